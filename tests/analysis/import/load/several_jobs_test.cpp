// Files of several jobs: one measurement for each, and refusals where jobs cannot be told apart.
#include <gmock/gmock.h>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct RankOfJob {
  int rank = 0, world_size = 1, batch = 32;
  std::int64_t second = 0;  // begin of the trace, after the first job's
  bool time_of_day = true;  // the file has its base time
  bool distributed_info = true;
  bool collectives = true;
  int pid = 100;
  int gradients = 65536;  // elements
};

std::string text_of(const RankOfJob& of) {
  MadeTrace made;
  made.pid = of.pid;
  made.calls = made.kernels = of.collectives;
  made.distributed = of.distributed_info
                         ? R"("distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(of.rank) +
                               R"(, "world_size": )" + std::to_string(of.world_size) + "}"
                         : "";
  std::string ranks;
  for (int rank = 0; rank < of.world_size; ++rank) ranks += (rank > 0 ? ", " : "") + std::to_string(rank);
  made.group = R"("Group size": )" + std::to_string(of.world_size) +
               R"(, "Process Group Name": "0", "Process Group Ranks": "[)" + ranks + "]\"";
  made.at_us = 1000 + 1'000'000 * of.second;
  TraceText trace = made.trace();
  if (of.time_of_day) trace.before.push_back(R"("baseTimeNanoseconds": 1700000000000000000)");
  for (std::string& event : trace.events) {
    if (event.find("aten::linear") != event.npos)
      event = replaced(event, "[[32, 256]", "[[" + std::to_string(of.batch) + ", 256]");
    if (event.find("65536") == event.npos) continue;
    event = replaced(event, "65536", std::to_string(of.gradients));
    if (event.find("65536") != event.npos) event = replaced(event, "65536", std::to_string(of.gradients));
  }
  if (of.gradients != 65536)
    for (std::string& event : trace.events)
      if (event.find("AccumulateGrad") != event.npos)
        event = replaced(event, "[[256, 256]]", "[[" + std::to_string(of.gradients / 256) + ", 256]]");
  return trace.text();
}

struct Jobs {
  Folder folder;
  std::vector<std::filesystem::path> files;

  Jobs& add(const std::string& name, const RankOfJob& of) { return add_text(name, text_of(of)); }
  Jobs& add_text(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    files.push_back(folder.write(name, text));
    return *this;
  }
};

struct Outcome {
  Imported imported;
  std::vector<std::string> measurements;  // "N=2 b=32 r=0 ranks=2 model job"
};

std::vector<std::string> measurements_of(store::Database& database) {
  std::vector<std::string> found;
  SQLite::Statement query(database.sql(),
                          "SELECT world_size, batch_per_worker, repeat, (SELECT count(*) FROM shard WHERE "
                          "measurement_id = m.id), model, status FROM measurement m ORDER BY id");
  while (query.executeStep())
    found.push_back("N=" + query.getColumn(0).getString() + " b=" + query.getColumn(1).getString() +
                    " r=" + query.getColumn(2).getString() + " ranks=" + query.getColumn(3).getString() + " " +
                    query.getColumn(4).getString() + " " + query.getColumn(5).getString());
  return found;
}

Outcome imported(const Jobs& jobs, ImportOptions options = {}) {
  store::Database database = store::Database::create(jobs.folder.path() / "imported.db", store::Replace::yes);
  options.files = jobs.files;
  if (options.model.empty()) options.model_of_several = "job";
  Outcome outcome{import_into(database, options), {}};
  outcome.measurements = measurements_of(database);
  return outcome;
}

TEST(SeveralJobs, AFolderForEachJob) {
  Jobs jobs;
  jobs.add("n1/rank0.json", {0, 1, 32, 0});
  jobs.add("n1b/rank0.json", {0, 1, 64, 100});
  jobs.add("n2/rank0.json", {0, 2, 32, 200}).add("n2/rank1.json", {1, 2, 32, 200});
  jobs.add("n2b/rank0.json", {0, 2, 64, 300}).add("n2b/rank1.json", {1, 2, 64, 300});
  const Outcome outcome = imported(jobs);
  ASSERT_EQ(outcome.imported.error, "");
  EXPECT_THAT(outcome.measurements, ElementsAre("N=1 b=32 r=0 ranks=1 job ok", "N=1 b=64 r=0 ranks=1 job ok",
                                                "N=2 b=32 r=0 ranks=2 job ok", "N=2 b=64 r=0 ranks=2 job ok"));
  EXPECT_EQ(outcome.imported.result.jobs.size(), 4U);
  EXPECT_EQ(outcome.imported.result.world_size, 2);
  EXPECT_EQ(outcome.imported.result.ranks, 6);
  EXPECT_EQ(outcome.imported.rows.at("kernel"), 6 * 6);
  EXPECT_EQ(outcome.imported.rows.at("step"), 6 * 3);
  for (const char* code : {"rank_twice", "rank_missing", "world_size_unlike", "ranks_unlike"})
    EXPECT_EQ(outcome.imported.told.count(code), 0U) << code;
}

TEST(SeveralJobs, OneFolderOfAllByTheirIdentity) {
  Jobs jobs;
  jobs.add("a.json", {0, 1, 32, 0}).add("b.json", {0, 2, 32, 200}).add("c.json", {0, 2, 32, 400, true, true, true, 7});
  jobs.add("d.json", {1, 2, 32, 400}).add("e.json", {1, 2, 32, 200}).add("f.json", {0, 2, 64, 600});
  const Outcome outcome = imported(jobs.add("g.json", {1, 2, 64, 600}));
  ASSERT_EQ(outcome.imported.error, "");
  EXPECT_THAT(outcome.measurements, ElementsAre("N=1 b=32 r=0 ranks=1 job ok", "N=2 b=32 r=0 ranks=2 job ok",
                                                "N=2 b=32 r=1 ranks=2 job ok", "N=2 b=64 r=0 ranks=2 job ok"));
  EXPECT_EQ(outcome.imported.told.count("rank_twice"), 0U);
}

TEST(SeveralJobs, WithoutDistributedInfoTheCollectivesTell) {
  Jobs jobs;
  const auto without = [](int rank, int world_size, std::int64_t second) {
    return RankOfJob{rank, world_size, 32, second, true, false};
  };
  jobs.add("one-rank0.json", without(0, 1, 0)).add("two-rank0.json", without(0, 2, 9));
  jobs.add("two-rank1.json", without(1, 2, 9));
  const Outcome outcome = imported(jobs);
  ASSERT_EQ(outcome.imported.error, "");
  EXPECT_THAT(outcome.measurements, ElementsAre("N=1 b=32 r=0 ranks=1 job ok", "N=2 b=32 r=0 ranks=2 job ok"));
}

TEST(SeveralJobs, BatchesTellJobsApartIfTheTimeOfDayIsUnknown) {
  Jobs jobs;
  for (const int batch : {32, 64})
    for (const int rank : {0, 1})
      jobs.add(std::to_string(batch) + "-" + std::to_string(rank) + ".json", {rank, 2, batch, 0, false});
  EXPECT_THAT(imported(jobs).measurements, ElementsAre("N=2 b=32 r=0 ranks=2 job ok", "N=2 b=64 r=0 ranks=2 job ok"));
}

TEST(SeveralJobs, ProcessesWithoutCollectivesAreJobsOfTheirOwn) {
  Jobs jobs;
  jobs.add("x.json", {0, 1, 32, 0, true, false, false});
  jobs.add("y.json", {0, 1, 64, 60, true, false, false});
  EXPECT_THAT(imported(jobs).measurements, ElementsAre("N=1 b=32 r=0 ranks=1 job ok", "N=1 b=64 r=0 ranks=1 job ok"));
}

// Two trainings beside each other, as a search for parameters runs them: N and the global batch are not their sum.
TEST(SeveralJobs, ProcessesAtTheSameTimeAreNotTakenForRanks) {
  Jobs jobs;
  jobs.add("x.json", {0, 1, 32, 0, true, false, false});
  jobs.add("y.json", {0, 1, 32, 0, true, false, false, 101});
  const Outcome outcome = imported(jobs);
  ASSERT_EQ(outcome.imported.error, "");
  EXPECT_EQ(outcome.imported.result.world_size, 0) << "unknown";
  EXPECT_EQ(outcome.imported.told.count("world_size_unknown"), 1U);
  ImportOptions one_job;
  one_job.workers = 2;
  EXPECT_EQ(imported(jobs, one_job).imported.result.world_size, 2);
}

TEST(SeveralJobs, TheHostsOfAJobMayHaveFoldersOfTheirOwn) {
  Jobs jobs;
  for (const int run : {0, 1})
    for (const int rank : {0, 1})
      jobs.add("run" + std::to_string(run) + "/host" + std::to_string(rank) + "/rank" + std::to_string(rank) + ".json",
               {rank, 2, 32, 1000 * run});
  EXPECT_THAT(imported(jobs).measurements, ElementsAre("N=2 b=32 r=0 ranks=2 job ok", "N=2 b=32 r=1 ranks=2 job ok"));
  Jobs untimed;
  untimed.add("host0/rank0.json", {0, 2, 32, 0, false}).add("host1/rank1.json", {1, 2, 32, 5, false});
  EXPECT_THAT(imported(untimed).measurements, ElementsAre("N=2 b=32 r=0 ranks=2 job ok"))
      << "a file that is named after its rank alone does not name the model";
}

TEST(SeveralJobs, IncompleteJobsAreKeptApart) {
  Jobs jobs;
  jobs.add("b32/rank0.json", {0, 2, 32, 0}).add("b64/rank1.json", {1, 2, 64, 0});
  EXPECT_THAT(imported(jobs).measurements,
              ElementsAre("N=2 b=32 r=0 ranks=1 job partial", "N=2 b=64 r=0 ranks=1 job partial"));
}

TEST(SeveralJobs, RanksOfDifferentTimesAreRefused) {
  Jobs jobs;
  jobs.add("a/rank0.json", {0, 2, 32, 0}).add("b/rank1.json", {1, 2, 32, 500});
  const Outcome apart = imported(jobs);
  EXPECT_THAT(apart.imported.error, AllOf(HasSubstr("rank0.json (rank 0 of 2)"), HasSubstr("rank1.json (rank 1 of 2)"),
                                          HasSubstr("different times"), HasSubstr("a folder of its own")));
  EXPECT_THAT(apart.measurements, IsEmpty());
  Jobs one_folder;
  one_folder.add("a.json", {0, 3, 32, 0}).add("b.json", {0, 3, 32, 500}).add("c.json", {1, 3, 32, 1000});
  EXPECT_THAT(imported(one_folder).imported.error, HasSubstr("different times"));
}

TEST(SeveralJobs, HostsThatFitTwoJobsAreRefused) {
  Jobs jobs;
  for (const char* host : {"a", "b", "c"})
    jobs.add(std::string(host) + "/rank.json", {*host == 'a' ? 0 : 1, 2, 32, 0, false});
  EXPECT_THAT(imported(jobs).imported.error, HasSubstr("fit the first one as well"));
}

TEST(SeveralJobs, AFileWithoutIdentityBesideJobsOfSeveralSizesIsRefused) {
  Jobs jobs;
  jobs.add("a.json", {0, 1, 32, 0}).add("b.json", {0, 2, 32, 0}).add("c.json", {1, 2, 32, 0});
  const Outcome outcome = imported(jobs.add("d.json", {0, 1, 32, 0, true, false, false}));
  EXPECT_THAT(outcome.imported.error, AllOf(HasSubstr("d.json"), HasSubstr("several numbers of ranks")));
}

TEST(SeveralJobs, DamagedFilesOfOneJobLeaveTheOthers) {
  Jobs jobs;
  const std::string whole = text_of({1, 2, 32, 100});
  jobs.add("n1/rank0.json", {0, 1, 32, 0}).add("n2/rank0.json", {0, 2, 32, 100});
  jobs.add_text("n2/rank1.json", whole.substr(0, whole.size() / 2));
  jobs.add_text("n4/rank0.json", "{\"traceEvents\": [");
  const Outcome outcome = imported(jobs);
  ASSERT_EQ(outcome.imported.error, "");
  EXPECT_THAT(outcome.measurements, ElementsAre("N=1 b=32 r=0 ranks=1 job ok", "N=2 b=32 r=0 ranks=2 job ok"));
  EXPECT_EQ(outcome.imported.counts().at("truncated"), 1);
  EXPECT_THAT(outcome.imported.told.find("file_unusable")->second.message, HasSubstr("rank0.json"));
}

TEST(SeveralJobs, OptionsOfOneJobAreNotAppliedToSeveral) {
  Jobs jobs;
  jobs.add("n1/rank0.json", {0, 1, 32, 0}).add("n2/rank0.json", {0, 2, 64, 100}).add("n2/rank1.json", {1, 2, 64, 100});
  ImportOptions options;
  options.nodes = 2;
  EXPECT_THAT(imported(jobs, options).imported.error, AllOf(HasSubstr("--nodes"), HasSubstr("1 ranks")));
  options.nodes.reset();
  options.batch_per_worker = 16;
  EXPECT_THAT(imported(jobs, options).imported.error, AllOf(HasSubstr("--batch-per-worker"), HasSubstr("64")));
}

TEST(SeveralJobs, OtherModelsGetOtherNames) {
  Jobs jobs;
  jobs.add("n1/rank0.json", {0, 1, 32, 0});
  RankOfJob other{0, 2, 32, 100};
  other.gradients = 4096;
  jobs.add("n2/rank0.json", other);
  other.rank = 1;
  jobs.add("n2/rank1.json", other);
  EXPECT_THAT(imported(jobs).measurements,
              ElementsAre("N=1 b=32 r=0 ranks=1 job ok", "N=2 b=32 r=0 ranks=2 job (16384 bytes of gradients) ok"));
  ImportOptions named;
  named.model = "mine";
  EXPECT_THAT(imported(jobs, named).measurements,
              ElementsAre("N=1 b=32 r=0 ranks=1 mine ok", "N=2 b=32 r=0 ranks=2 mine ok"));
}

TEST(SeveralJobs, CoresOfCpusAgree) {
  Jobs jobs;
  const auto gloo = [&](int rank, int world_size) {
    return replaced(MadeGloo{}.text(), R"("rank": 0, "world_size": 2)",
                    "\"rank\": " + std::to_string(rank) + ", \"world_size\": " + std::to_string(world_size));
  };
  jobs.add_text("n1/rank0.json", gloo(0, 1));
  for (const int rank : {0, 1}) jobs.add_text("n2/rank" + std::to_string(rank) + ".json", gloo(rank, 2));
  store::Database database = store::Database::create(jobs.folder.path() / "cores.db");
  ImportOptions options;
  options.files = jobs.files;
  const auto cores = [&] {
    std::vector<std::int64_t> found;
    SQLite::Statement query(database.sql(), "SELECT cores FROM measurement ORDER BY id");
    while (query.executeStep()) found.push_back(query.getColumn(0).getInt64());
    return found;
  };
  ASSERT_EQ(import_into(database, options).error, "");
  EXPECT_THAT(cores(), ElementsAre(2, 2));
  jobs.files.clear();
  for (const int rank : {0, 1, 2, 3}) jobs.add_text("n4/rank" + std::to_string(rank) + ".json", gloo(rank, 4));
  options.files = jobs.files;
  options.append = true;
  Imported more = import_into(database, options);
  ASSERT_EQ(more.error, "");
  EXPECT_THAT(cores(), ElementsAre(4, 4, 4)) << "the assumption is the same for all";
  EXPECT_EQ(more.counts().at("cores_unknown"), 3);
  options.cores = 16;
  options.append = false;
  more = import_into(database, options);
  EXPECT_THAT(cores(), ElementsAre(16, 16, 16, 16)) << "a known number replaces the assumption";
  EXPECT_EQ(more.told.count("cores_unknown"), 0U);
}

// torchrun on two hosts, with files that are named after LOCAL_RANK, by a torch without distributedInfo.
TEST(SeveralJobs, RanksOfEachHostInTheNamesAreRefused) {
  const auto jobs_at = [](std::int64_t second, bool time_of_day, int world_size) {
    Jobs jobs;
    for (const int node : {0, 1})
      for (const int rank : {0, 1})
        jobs.add("node" + std::to_string(node) + "/rank" + std::to_string(rank) + ".json",
                 {rank, world_size, 32, node * second, time_of_day, false, true, 100 + 2 * node + rank});
    return imported(jobs);
  };
  for (const bool time_of_day : {true, false}) {
    EXPECT_THAT(jobs_at(0, time_of_day, 4).imported.error,
                AllOf(HasSubstr("may belong to one job or to two"), HasSubstr("ranks of each host")));
  }
  EXPECT_THAT(jobs_at(500, true, 4).measurements.size(), 2U) << "at different times these are two incomplete jobs";
  EXPECT_THAT(jobs_at(0, true, 2).imported.error, Not(HasSubstr("ranks of each host"))) << "each has all of its ranks";
}

// Traces before torch 2.2 have no base time: the times of their steps show that a job is the same.
TEST(SeveralJobs, AJobIsNotAppendedTwice) {
  for (const bool time_of_day : {true, false}) {
    Jobs jobs;
    for (const int rank : {0, 1}) jobs.add("n2/rank" + std::to_string(rank) + ".json", {rank, 2, 32, 0, time_of_day});
    store::Database database = store::Database::create(jobs.folder.path() / "twice.db");
    ImportOptions options;
    options.files = jobs.files;
    options.append = true;
    ASSERT_EQ(import_into(database, options).error, "");
    EXPECT_THAT(import_into(database, options).error, HasSubstr("measurement 1")) << time_of_day;
    EXPECT_EQ(measurements_of(database).size(), 1U);
    // As another version may have derived it: another length, other samples and, by the steps alone, another N.
    database.sql().exec(
        "UPDATE measurement SET wall_ns = wall_ns + 1000; UPDATE step SET duration_ns = duration_ns + 1000, samples = "
        "samples + 1");
    EXPECT_THAT(import_into(database, options).error, HasSubstr("measurement 1")) << time_of_day;
    database.sql().exec("UPDATE measurement SET world_size = 3");
    EXPECT_THAT(import_into(database, options).error, AllOf(HasSubstr("measurement 1"), HasSubstr("steps start at")));
    database.sql().exec("UPDATE measurement SET world_size = 2");
    Jobs other;
    for (const int rank : {0, 1}) other.add("n2/rank" + std::to_string(rank) + ".json", {rank, 2, 32, 7, time_of_day});
    options.files = other.files;
    EXPECT_EQ(import_into(database, options).error, "") << "another run of the same configuration";
  }
}

}  // namespace
}  // namespace ddpprof::import
