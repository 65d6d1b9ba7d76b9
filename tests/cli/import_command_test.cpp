// ddpprof import of tables and logs, as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/analysis/import/tables/nccl_text.hpp"
#include "tests/cli/command_line.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof {
namespace {

using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::HasSubstr;

constexpr const char* steps =
    "workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.100\n1,1,16,0.181\n2,2,8,0.140\n3,3,8,0.171\n4,4,8,0.180\n"
    "8,8,8,0.199\n";
constexpr const char* log_text =
    "#  Rank  0 Group  0 Pid  1 on  node-a device  0 [0x10] NVIDIA A100\n"
    "#  Rank  1 Group  0 Pid  2 on  node-b device  0 [0x10] NVIDIA A100\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
    "        1024           256     float     sum      -1    20.00    0.05    0.05      0\n"
    "     1048576        262144     float     sum      -1   120.00    8.74    8.74      0\n"
    "    16777216       4194304     float     sum      -1  1600.00   10.49   10.49      0\n";
constexpr const char* trace_text =
    R"([{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5, )"
    R"("args": {"device": 0, "stream": 7}}])";

class ImportCommand : public CommandLine {
 protected:
  static std::string missing(const std::string& name) {
    std::filesystem::remove(folder_ / name);
    return (folder_ / name).string();
  }
};

TEST_F(ImportCommand, ATableOfStepTimesAnswersAsTheTableItself) {
  const std::string table = file("steps.csv", steps), out = missing("steps.db");
  const Outcome imported = run_ddpprof({"import", table, "--out", out, "--format", "json"});
  ASSERT_EQ(imported.code, 0) << imported.messages;
  EXPECT_THAT(imported.messages, HasSubstr("6 step times of 6 placements"));
  EXPECT_EQ(nlohmann::json::parse(imported.out)["report"], "predictions");
  const auto answer = [](const std::string& of) {
    const Outcome outcome =
        run_ddpprof({"predict", of, "--workers", "16,64", "--batch-per-worker", "16", "--gpus-per-node", "1"});
    EXPECT_EQ(outcome.code, 0) << outcome.messages;
    return outcome.out;
  };
  EXPECT_EQ(answer(out), answer(table));
  EXPECT_THAT(run_ddpprof({"predict", out, "--workers", "8", "--what-if", "compute=2x"}).messages,
              HasSubstr("--what-if is for traces"));
}

// Sixteen ranks on two nodes already lose two thirds of the step.
TEST_F(ImportCommand, KneesOfATableAreSoughtAmongItsMeasuredN) {
  const std::string table = file("slow.csv",
                                 "workers,nodes,batch_per_worker,step_time_s\n1,1,32,0.1\n8,1,32,0.102\n16,2,32,0.3\n"
                                 "32,4,32,0.4\n64,8,32,0.45\n");
  const std::string out = missing("slow.db");
  ASSERT_EQ(run_ddpprof({"import", table, "--out", out}).code, 0);
  const auto report = nlohmann::json::parse(run_ddpprof({"report", out, "--report", "predictions", "--format", "json"}).out);
  int halves = 0;
  for (const auto& one : report["tables"])
    if (one["name"] == "knee")
      for (const auto& row : one["rows"])
        if (row["threshold"] == 0.5) {
          EXPECT_EQ(row["knee_workers"], 16);
          ++halves;
        }
  EXPECT_EQ(halves, 1);
}

TEST_F(ImportCommand, TheAnswerOfATableOfOneNodeNamesUnmeasuredLinks) {
  const std::string table =
      file("node.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,32,0.1\n4,1,32,0.103\n8,1,32,0.105\n");
  const std::string out = missing("node.db");
  ASSERT_EQ(run_ddpprof({"import", table, "--out", out}).code, 0);
  EXPECT_THAT(run_ddpprof({"report", out, "--report", "answer"}).out,
              HasSubstr("nodes were not measured: the interval"));
}

TEST_F(ImportCommand, ATableThatKeepsItsGlobalBatchKeepsItsLearningRate) {
  const std::string table =
      file("kept.csv", "workers,nodes,batch_per_worker,step_time_s\n1,1,64,0.64\n2,1,32,0.35\n4,1,16,0.2\n");
  const std::string out = missing("kept.db");
  ASSERT_EQ(run_ddpprof({"import", table, "--out", out}).code, 0);
  EXPECT_THAT(run_ddpprof({"lr", out, "--workers", "8,16", "--base", "0.1"}).out,
              HasSubstr("The global batch of ddp is the same at every N"));
  EXPECT_THAT(run_ddpprof({"lr", out, "--workers", "8,16", "--base", "0.1", "--batch-per-worker", "16"}).out,
              testing::Not(HasSubstr("same at every N")));
  // The rate was tuned at another batch than the table's 64: 0.1 · 64 / 16.
  const auto tuned = nlohmann::json::parse(run_ddpprof({"lr", out, "--workers", "8,24", "--base", "0.1", "--base-batch",
                                                        "16", "--optimizer", "sgd", "--format", "json"})
                                               .out);
  const auto& rates = tuned["tables"][0];
  EXPECT_THAT(rates["note"].get<std::string>(), HasSubstr("N = 8 apply to every N with a global batch of 64 samples"));
  ASSERT_EQ(rates["rows"].size(), 1U);
  EXPECT_EQ(rates["rows"][0]["workers"], 8);
  EXPECT_EQ(rates["rows"][0]["global_batch_samples"], 64);
  EXPECT_DOUBLE_EQ(rates["rows"][0]["target_lr"], 0.4);
  // Measured and predicted steps have the strong efficiency: 0.64 s / (4 · 0.2 s).
  EXPECT_THAT(run_ddpprof({"report", out, "--report", "predictions", "--format", "markdown"}).out,
              HasSubstr("| strong efficiency"));
  const auto answer =
      nlohmann::json::parse(run_ddpprof({"report", out, "--report", "answer", "--format", "json"}).out)["tables"];
  for (const auto& one : answer)
    if (one["name"] == "at_a_glance")
      for (const auto& row : one["rows"])
        if (row["workers"] == 4) {
          EXPECT_EQ(row["source"], "measured");
          EXPECT_NEAR(row["efficiency"].get<double>(), 0.8, 1e-9);
        }
}

// A killed load leaves its journal. SQLite would apply the journal to a new file of the same name.
TEST_F(ImportCommand, AReasonWhyNothingIsPredictedIsStored) {
  const std::string table = file("one.csv", "workers,nodes,batch_per_worker,step_time_s\n4,1,8,0.1\n");
  const std::string out = (folder_ / "one.db").string();
  ASSERT_EQ(run_ddpprof({"import", table, "--out", out}).code, 0);
  EXPECT_THAT(run_ddpprof({"report", out, "--report", "answer"}).out,
              HasSubstr("ddp is not predicted: all steps were measured at 4 workers"));
}

TEST_F(ImportCommand, AJournalThatWasLeftIsNotPlayedIntoTheNewFile) {
  const std::string out = missing("left.db"), loading = missing("loading.db");
  ASSERT_EQ(run_ddpprof({"import", file("first.csv", steps), "--out", loading}).code, 0);
  {
    store::Database database = store::Database::open_write(loading);
    database.sql().exec("PRAGMA cache_size = 10; BEGIN; UPDATE measurement SET model = 'undone'; DELETE FROM step");
    database.sql().exec(
        "INSERT INTO meta WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT "
        "'key ' || i, i FROM n");  // more than the cache: pages go to the file
    std::filesystem::copy_file(loading, out);
    std::filesystem::copy_file(loading + "-journal", out + "-journal");
    database.sql().exec("ROLLBACK");
  }
  const Outcome next = run_ddpprof({"import", file("next.csv", steps), "--out", out, "--overwrite"});
  ASSERT_EQ(next.code, 0) << next.messages;
  store::Database database = store::Database::open_read(out);
  EXPECT_EQ(database.sql().execAndGet("SELECT min(model) FROM measurement").getString(), "next");
  EXPECT_NO_THROW(database.check());
}

TEST_F(ImportCommand, LogsStandAloneOrBesideTraces) {
  const std::string log = file("all_reduce.txt", log_text), out = missing("log.db");
  const Outcome alone = run_ddpprof({"import", log, "--out", out, "--format", "json"});
  ASSERT_EQ(alone.code, 0) << alone.messages;
  EXPECT_THAT(alone.messages, HasSubstr("1 sweep of collectives"));
  const auto document = nlohmann::json::parse(alone.out);
  EXPECT_EQ(document["report"], "comm");
  EXPECT_EQ(document["tables"][0]["rows"].size(), 3U);
  const std::string tagged = [&] {
    std::string text;
    std::istringstream lines(log_text);
    for (std::string line; std::getline(lines, line);) text += "[1,0]<stdout>: " + line + "\n";
    return text;
  }();
  EXPECT_EQ(run_ddpprof({"import", file("tagged.txt", tagged), "--out", out, "--overwrite"}).code, 0)
      << "a launcher's tag begins like a JSON array";
  const Outcome both = run_ddpprof({"import", file("rank0.json", trace_text), log, "--out", out, "--overwrite"});
  EXPECT_EQ(both.code, 0) << both.messages;
  EXPECT_THAT(both.messages, HasSubstr("1 event of 1 rank"));
  EXPECT_THAT(both.messages, HasSubstr("1 sweep of collectives"));
}

// Rings of 20 us and 2(N-1)/N bytes at 100 GB/s on one host: the bus bandwidth of 8 ranks is that of 4.
TEST_F(ImportCommand, LogsAloneArePredictedAtOtherRanks) {
  std::vector<std::string> import = {"import"};
  for (const std::int64_t ranks : {2, 4}) {
    const test::NcclText text{.ranks = ranks, .hosts = 1, .busbw = 100.0};
    import.push_back(file("ranks" + std::to_string(ranks) + ".txt", text.all()));
  }
  const std::string out = missing("sweeps.db");
  import.insert(import.end(), {"--out", out});
  ASSERT_EQ(run_ddpprof(import).code, 0);
  const Outcome predicted =
      run_ddpprof({"predict", out, "--workers", "8,16", "--gpus-per-node", "8", "--format", "json"});
  ASSERT_EQ(predicted.code, 0) << predicted.messages;
  const auto rows = nlohmann::json::parse(predicted.out)["tables"][0]["rows"];
  ASSERT_EQ(rows.size(), 12U);
  EXPECT_EQ(rows[10]["op"], "all_reduce");
  EXPECT_EQ(rows[10]["bytes"], std::int64_t{1} << 30);
  EXPECT_NEAR(rows[10]["busbw_bytes_per_s"].get<double>(), 100e9, 1e9);
  EXPECT_LT(rows[10]["time_low_s"].get<double>(), rows[10]["time_s"].get<double>());
  EXPECT_THAT(rows[11]["note"].get<std::string>(), HasSubstr("links between hosts")) << "16 ranks need two hosts";
  EXPECT_TRUE(rows[11]["time_s"].is_null());
  const Outcome wrong = run_ddpprof({"predict", out, "--workers", "8", "--what-if", "compute=2x"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.messages, HasSubstr("collectives of nccl-tests only"));
}

TEST_F(ImportCommand, WhatAFolderHoldsBesideTracesIsSaidAndLeftOut) {
  const std::filesystem::path traces = folder_ / "traces";
  std::filesystem::create_directory(traces);
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(traces / name, std::ios::binary) << text;
    return (traces / name).string();
  };
  const std::string out = missing("folder.db"), page = put("index.json", "<html></html>");
  put("config.json", R"({"size": 3, "count": 4, "type": "run"})");
  const Outcome none = run_ddpprof({"import", traces.string(), "--out", out});
  EXPECT_EQ(none.code, 5) << none.messages;
  EXPECT_FALSE(std::filesystem::exists(out));
  put("rank0.json", trace_text);
  const Outcome some = run_ddpprof({"import", traces.string(), "--out", out});
  ASSERT_EQ(some.code, 0) << some.messages;
  EXPECT_THAT(some.messages, HasSubstr("left out: " + page));
  EXPECT_THAT(run_ddpprof({"report", out, "--report", "diagnostics"}).out, HasSubstr("config.json"));
  const Outcome pattern = run_ddpprof({"import", (traces / "*.json").string(), "--out", out, "--overwrite"});
  EXPECT_EQ(pattern.code, 0) << pattern.messages;
  const Outcome named = run_ddpprof({"import", page, (traces / "rank0.json").string(), "--out", out, "--overwrite"});
  EXPECT_EQ(named.code, 5) << "a named file must be importable";
  EXPECT_THAT(named.messages, HasSubstr("index.json"));
}

// All members on one line, with the words of a log's heading among them.
TEST_F(ImportCommand, ATraceOfOneLineIsNoLog) {
  const std::string trace =
      file("rank0.json", R"({"size": 1, "count": 2, "type": 3, "traceEvents": )" + std::string(trace_text) + "}");
  const Outcome outcome = run_ddpprof({"import", trace, "--out", missing("line.db")});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr("1 event of 1 rank"));
}

std::string job_text(int rank, int world_size, int second) {
  return "{\"distributedInfo\": {\"rank\": " + std::to_string(rank) +
         ", \"world_size\": " + std::to_string(world_size) +
         "}, \"baseTimeNanoseconds\": " + std::to_string(1'700'000'000 + second) +
         "000000000, \"traceEvents\": " + trace_text + "}";
}

std::int64_t measurements_in(const std::string& database) {
  return store::Database::open_read(database).sql().execAndGet("SELECT count(*) FROM measurement").getInt64();
}

TEST_F(ImportCommand, EachJobIsAMeasurement) {
  const std::string out = missing("jobs.db");
  const Outcome outcome = run_ddpprof({"import", file("a.json", job_text(0, 1, 0)), file("b.json", job_text(0, 2, 50)),
                                       file("c.json", job_text(1, 2, 50)), "--out", out});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr("measurement 1: N = 1, 0 steps, from " + (folder_ / "a.json").string()));
  EXPECT_THAT(outcome.messages, HasSubstr("measurement 2: N = 2, 0 steps, from " + (folder_ / "b.json").string()));
  EXPECT_THAT(outcome.messages, HasSubstr("3 events of 2 jobs"));
  EXPECT_EQ(measurements_in(out), 2);
  const Outcome unclear = run_ddpprof({"import", file("d.json", trace_text), (folder_ / "a.json").string(),
                                       (folder_ / "b.json").string(), "--out", missing("unclear.db")});
  EXPECT_EQ(unclear.code, 5);
  EXPECT_THAT(unclear.messages, HasSubstr("may belong to one job or to two"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "unclear.db"));
}

TEST_F(ImportCommand, AppendAddsMeasurements) {
  const std::string out = missing("grows.db"), second = file("b.json", job_text(0, 2, 50));
  ASSERT_EQ(run_ddpprof({"import", file("a.json", job_text(0, 1, 0)), "--out", out}).code, 0);
  const Outcome appended = run_ddpprof({"import", second, file("c.json", job_text(1, 2, 50)), "--append", out});
  ASSERT_EQ(appended.code, 0) << appended.messages;
  EXPECT_THAT(appended.messages, HasSubstr("measurement 2: N = 2"));
  EXPECT_EQ(measurements_in(out), 2);
  const Outcome log = run_ddpprof({"import", file("all_reduce.txt", log_text), "--append", out});
  EXPECT_EQ(log.code, 0) << log.messages;
  EXPECT_EQ(measurements_in(out), 3);
  store::Database database = store::Database::open_read(out);
  EXPECT_EQ(database.sql().execAndGet("SELECT count(DISTINCT model) FROM measurement WHERE kind = 'import'").getInt(),
            1);
  EXPECT_NO_THROW(database.check());
}

TEST_F(ImportCommand, ARefusedAppendLeavesTheDatabaseAsItIs) {
  const std::string out = missing("stays.db"), first = file("a.json", job_text(0, 1, 0)), none = missing("none.db");
  ASSERT_EQ(run_ddpprof({"import", first, "--out", out}).code, 0);
  const std::string before = test::read_all(out);
  const auto refused = [&](std::vector<std::string> arguments, int code, const std::string& why) {
    arguments.insert(arguments.begin(), "import");
    const Outcome outcome = run_ddpprof(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(why));
    EXPECT_EQ(test::read_all(out), before) << why;
  };
  const std::string table = file("steps.csv", steps), of_table = missing("table.db");
  ASSERT_EQ(run_ddpprof({"import", table, "--out", of_table}).code, 0);
  const std::string next = file("b.json", job_text(0, 2, 50));
  refused({first, "--append", out}, 5, "the database has this job as measurement 1");
  refused({table, "--append", out}, 2, "is a table of step times, which cannot be added");
  refused({file("bad.json", "{\"traceEvents\": ["), "--append", out}, 5, "bad.json");
  refused({next, "--append", none}, 2, "there is no ");
  refused({next, "--append", table}, 2, "is not a database of ddpprof");
  refused({next, "--append", database_}, 2, "it has measurements of ddpprof's own training");
  refused({next, "--append", of_table}, 2, "it has a table of step times");
  refused({next, "--append", out, "--overwrite"}, 2, "--append keeps the database");
  refused({next, "--append", out, "--out", none}, 2, "--out");
  refused({next}, 2, "no database is named");
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_EQ(entry.path().string().find(".appending"), std::string::npos) << entry.path();
  EXPECT_FALSE(std::filesystem::exists(out + ".d"));
}

TEST_F(ImportCommand, CompareChoosesMeasurementsOfOneDatabase) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& why) {
    arguments.insert(arguments.begin(), {"compare", database_});
    const Outcome outcome = run_ddpprof(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(why));
  };
  refused({}, "what to compare is not clear");
  refused({database_, "--workers", "1,2"}, "what to compare is not clear");
  refused({"--workers", "1,2", "--batches", "1,2"}, "what to compare is not clear");
  refused({"--workers", "2"}, "two different numbers");
  refused({"--workers", "2,2"}, "two different numbers");
  refused({"--batches", "2,x"}, "--batches");
  const Outcome missing_n = run_ddpprof({"compare", database_, "--workers", "1,77"});
  EXPECT_EQ(missing_n.code, 5);
  EXPECT_THAT(missing_n.out, HasSubstr("N = 77"));
  const Outcome compared = run_ddpprof({"compare", database_, "--workers", "2,1", "--format", "json"});
  ASSERT_EQ(compared.code, 0) << compared.messages;
  EXPECT_THAT(compared.out, HasSubstr("N=2 and N=1"));
}

// A folder of one rank, as ddpprof worker writes it.
TEST_F(ImportCommand, KeepsWhatARankSaidAsItWasRead) {
  const std::filesystem::path rank = folder_ / "rank/attempt-0", out = missing("rank.db");
  std::filesystem::create_directories(rank);
  const std::pair<const char*, const char*> files[] = {
      {"rank-0.json",
       R"({"rank": 0,  "world_size": 1, "workers": 1, "pid": 71, "host": "gpu00", "started_utc_ns": 1700000000000000000,
 "strategy": "ddp", "trained_with": "ddp", "scenario_source": "", "scenario_file": "x.yaml", "mode": "train",
 "started_by": "hand", "job": ""})"},
      {"scenario-0.yaml",
       "name: x # a comment\nworkload:\n  model: {kind: linear, in: 10, out: 1}\n  loss: mse\nworkers: [1]\ndevice: "
       "cpu\n"},
      {"result-0.json",
       R"({"program_version": "0.1.0", "torch_version": "2.11.0", "cuda_version": "none", "host": "gpu00",
 "pool": "gpu00", "device": "cpu", "backend": "gloo", "parameter_hash": "00ff", "traced": false, "parameter_count": 10,
 "parameter_bytes": 40, "data_samples": 100, "samples_per_step": 32, "threads": 1, "cores": 2, "host_cores": 2,
 "pool_cores": 2, "pid": 71, "wall_ns": 1000000,  "step_ns": {"warmup": [500000], "measured": [400000, 410000], "unwrapped": []}})"}};
  for (const auto& [name, text] : files) std::ofstream(rank / name, std::ios::binary) << text;
  std::ofstream(rank / "run-0.json") << R"({"run": "x"})";
  const Outcome imported = run_ddpprof({"import", (folder_ / "rank").string(), "--out", out.string()});
  EXPECT_EQ(imported.code, 0) << imported.messages;
  for (const auto& [name, text] : files)
    EXPECT_EQ(test::read_all(folder_ / "rank.db.d/ddp-n1-r0" / name), text) << name;
}

TEST_F(ImportCommand, WhatDoesNotGoTogetherIsRefused) {
  const std::string table = file("steps.csv", steps), log = file("all_reduce.txt", log_text), out = missing("no.db");
  const auto refused = [&](std::vector<std::string> arguments, int code, const std::string& why) {
    arguments.insert(arguments.begin(), "import");
    arguments.insert(arguments.end(), {"--out", out});
    const Outcome outcome = run_ddpprof(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(out)) << why;
  };
  refused({table, file("more.csv", steps)}, 2, "are both tables of step times");
  refused({table, log}, 2, "is a table of step times, and ");
  refused({table, "--nodes", "2"}, 2, "--nodes is for traces");
  refused({table, "--log-ranks", "2"}, 2, "--log-ranks needs a log");
  refused({file("bad.csv", "workers,gpus\n1,2\n")}, 5, "unknown column 'gpus'");
  refused({file("empty.csv", "workers,nodes,batch_per_worker,step_time_s\n")}, 5, "has no row");
  refused({file("cut.log", "# nThread 1 nGpus 2 minBytes 8\n")}, 5, "contains no line with a message size");
  std::string bare = log_text;
  bare.erase(0, bare.find("#       size"));
  refused({file("bare.txt", bare)}, 5, "give --log-ranks");
  refused({log, file("bare.txt", bare)}, 5, "give --log-ranks");
}

}  // namespace
}  // namespace ddpprof
