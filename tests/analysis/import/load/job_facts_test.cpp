// Facts that ddpprof's Python module states beside the events (ddpprofJob) replace derived facts.
#include <gmock/gmock.h>

#include <tuple>

#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

const std::string facts =
    R"("ddpprofJob": {"format": 1, "batch": 48, "accumulation": 1, "parameter_count": 1500, "parameter_bytes": 6000, )"
    R"("bucket_cap_bytes": 2097152, "find_unused_parameters": true, "gradient_as_bucket_view": false, )"
    R"("optimizer": "AdamW", "learning_rate": 0.0125, "threads": 3, "cores": 12, "host": "alpha", "boot_id": "b-1", "python": "3.11", )"
    R"("torch": "2.11.0", "untraced": {"first": 10, "begin_ns": 990000000, "durations_ns": [800000, 900000, 700000]}})";

class JobFacts : public testing::Test {
 protected:
  void read(const std::string& member_of_0, const std::string& member_of_1) {
    std::vector<std::filesystem::path> files;
    for (const auto& [rank, member] : {std::pair{0, member_of_0}, std::pair{1, member_of_1}}) {
      TraceText trace = sound_trace(rank, 2);
      if (!member.empty()) trace.before.push_back(member);
      files.push_back(folder_.write("rank" + std::to_string(rank) + ".json", trace.text()));
    }
    imported_ = import_files(folder_, files, options_);
    ASSERT_EQ(imported_.error, "");
  }
  std::vector<std::string> rows(const std::string& sql) const {
    store::Database database = store::Database::open_read(folder_.path() / "imported.db");
    SQLite::Statement query(database.sql(), sql);
    std::vector<std::string> found;
    while (query.executeStep()) {
      std::string row;
      for (int i = 0; i < query.getColumnCount(); ++i) row += (i > 0 ? " " : "") + query.getColumn(i).getString();
      found.push_back(row);
    }
    return found;
  }
  Folder folder_;
  Imported imported_;
  ImportOptions options_;
};

using Rows = std::vector<std::string>;

TEST_F(JobFacts, AreTheMeasurements) {
  read(facts, facts);
  EXPECT_EQ(rows("SELECT batch_per_worker, parameter_count, parameter_bytes, threads_per_rank, cores, nodes, "
                 "oversubscription FROM measurement"),
            Rows{"48 1500 6000 3 12 1 0.5"});
  EXPECT_EQ(rows("SELECT options FROM measurement"),
            Rows{R"({"bucket_cap_mb":2.0,"find_unused_parameters":true,"gradient_as_bucket_view":false,)"
                 R"("learning_rate":0.0125,"optimizer":"AdamW"})"});
  EXPECT_EQ(rows("SELECT strategy FROM measurement"), Rows{"ddp"});
  EXPECT_THAT(rows("SELECT versions FROM measurement").front(), HasSubstr(R"("torch":"2.11.0")"));
  EXPECT_EQ(rows("SELECT DISTINCT host FROM shard"), Rows{"alpha"});
}

TEST_F(JobFacts, HostsAreCountedByTheirBoot) {
  read(facts, replaced(facts, "b-1", "b-2"));
  EXPECT_EQ(rows("SELECT nodes, oversubscription FROM measurement"), Rows{"2 0.25"});
}

// The collectives of rank 1 end 30 µs later than those of rank 0. On one machine that is no difference of clocks.
TEST_F(JobFacts, RanksOfOneMachineHaveOneClock) {
  const auto clocks = [&](const std::string& of_rank_1) {
    std::vector<std::filesystem::path> files;
    for (const int rank : {0, 1}) {
      TraceText trace = sound_trace(rank, 2);
      trace.before.push_back(rank == 0 ? facts : of_rank_1);
      for (std::string& event : trace.events)
        if (rank == 1 && event.find("ncclDevKernel") != std::string::npos)
          event = replaced(event, R"("dur": 100)", R"("dur": 130)");
      files.push_back(folder_.write("rank" + std::to_string(rank) + ".json", trace.text()));
    }
    EXPECT_EQ(import_files(folder_, files, options_).error, "");
    return rows("SELECT clock_reference, clock_offset_ns FROM shard ORDER BY rank");
  };
  EXPECT_EQ(clocks(facts), (Rows{"same-clock 0", "same-clock 0"}));
  EXPECT_EQ(clocks(replaced(facts, "b-1", "b-2")), (Rows{"same-clock 0", "exchange -30000"}));
}

// Containers share the boot id of their machine. Network namespaces distinguish them; without these, their names.
TEST_F(JobFacts, ContainersOfOneMachineAreOneHostWithAWarning) {
  const auto with_network = [](const char* id) {
    return replaced(facts, R"("boot_id": "b-1")", R"("boot_id": "b-1", "network": "net:[)" + std::string(id) + R"(]")");
  };
  read(with_network("1"), with_network("2"));
  EXPECT_EQ(rows("SELECT nodes, oversubscription FROM measurement"), Rows{"1 0.5"});
  ASSERT_EQ(imported_.told.count("hosts_share_a_machine"), 1U);
  EXPECT_THAT(imported_.told.find("hosts_share_a_machine")->second.message, HasSubstr("2 different networks"));
  EXPECT_THAT(rows("SELECT advice FROM diagnostic WHERE code = 'hosts_share_a_machine'").front(),
              HasSubstr("--nodes 2, or in a scenario file workload.nodes"));
  read(with_network("1"), replaced(with_network("1"), "alpha", "beta"));
  EXPECT_EQ(imported_.told.count("hosts_share_a_machine"), 0U) << "one network: the loopback device joins them";
  read(facts, replaced(facts, "alpha", "beta"));
  EXPECT_THAT(imported_.told.find("hosts_share_a_machine")->second.message, HasSubstr("2 different host names"));
  read(with_network("1"), replaced(with_network("2"), "b-1", "b-2"));
  EXPECT_EQ(imported_.told.count("hosts_share_a_machine"), 0U) << "two machines";
}

TEST_F(JobFacts, AStatedNumberOfHostsHasNoWarning) {
  options_.nodes = 2;
  read(facts, replaced(facts, "alpha", "beta"));
  EXPECT_EQ(rows("SELECT nodes FROM measurement"), Rows{"2"});
  EXPECT_EQ(imported_.told.count("hosts_share_a_machine"), 0U);
}

TEST_F(JobFacts, StepsWithoutTheProfilerAreStepsOfTheirOwnKind) {
  read(facts, facts);
  for (const char* rank : {"0", "1"})
    EXPECT_EQ(rows("SELECT st.step, st.kind, st.duration_ns, st.samples, st.compute_ns, st.start_ns FROM step st JOIN "
                   "shard s ON s.id = st.shard_id WHERE st.kind = 'untraced' AND s.rank = " +
                   std::string(rank) + " ORDER BY st.step"),
              (Rows{"10 untraced 800000 48 0 990000000", "11 untraced 900000 48 0 990800000",
                    "12 untraced 700000 48 0 991700000"}));
  EXPECT_EQ(rows("SELECT COUNT(*) FROM step WHERE kind = 'measured'"), Rows{"6"});
  ASSERT_EQ(imported_.told.count("profiler_cost"), 1U);
  // The traced steps take 1 ms.
  EXPECT_THAT(imported_.told.find("profiler_cost")->second.message,
              HasSubstr("800 µs without the profiler and 1 ms with it (+25 %)"));
}

// --noise-scale: norms of the steps before the others. They are warm-up steps, because the norms make them longer.
TEST_F(JobFacts, StepsWithNormsAreWarmUpStepsBeforeTheOthers) {
  const std::string norms = replaced(
      facts, R"("untraced":)",
      R"("norms": {"first": 8, "begin_ns": 900000000, "durations_ns": [500000, 600000], "local_sqr": [8.5, 4.0], )"
      R"("whole_sqr": [2.25, null]}, "untraced":)");
  read(norms, norms);
  for (const char* rank : {"0", "1"})
    EXPECT_EQ(
        rows("SELECT st.step, st.kind, st.duration_ns, st.start_ns, ifnull(st.local_gradient_sqr, 'none'), "
             "ifnull(st.gradient_sqr, 'none') FROM step st JOIN shard s ON s.id = st.shard_id WHERE st.step < 11 AND "
             "st.kind <> 'measured' AND s.rank = " +
             std::string(rank) + " ORDER BY st.start_ns"),
        (Rows{"8 warmup 500000 900000000 8.5 2.25", "9 warmup 600000 900500000 none none",
              "10 untraced 800000 990000000 none none"}));
  EXPECT_EQ(rows("SELECT COUNT(*) FROM step WHERE kind = 'measured'"), Rows{"6"});
  const std::string unequal = replaced(norms, "[2.25, null]", "[2.25]");
  read(unequal, unequal);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM step WHERE kind = 'warmup'"), Rows{"0"}) << "lists of unequal length";
}

// Regression: gradients of 4, 4 and 2 micro-batches, as at the end of an epoch. The steps without the profiler counted as
// having 4 of them each.
TEST_F(JobFacts, StepsWithoutTheProfilerHaveTheMeanOfTheTracedSamples) {
  TraceText trace = sound_trace(0, 1);
  trace.before.push_back(facts);
  // A second micro-batch in the first of three steps.
  for (const auto& [us, name, shapes] :
       {std::tuple{700, "aten::linear", R"(, "Input Dims": [[32, 8], [8, 8], []])"},
        {760, "autograd::engine::evaluate_function: AddmmBackward0", ""}})
    trace.events.push_back(complete_event("cpu_op", name, std::to_string(1'000'000 + us), "50", "4711",
                                          us == 700 ? "4711" : "4712",
                                          "\"External id\": " + std::to_string(us) + shapes));
  imported_ = import_files(folder_, {folder_.write("rank0.json", trace.text())});
  ASSERT_EQ(imported_.error, "");
  EXPECT_EQ(rows("SELECT samples FROM step WHERE kind = 'measured' ORDER BY step"), (Rows{"96", "48", "48"}));
  EXPECT_EQ(rows("SELECT DISTINCT samples FROM step WHERE kind = 'untraced'"), Rows{"64"});
}

TEST_F(JobFacts, ALaterClockDoesNotMoveStepsIntoTheTrace) {
  read(replaced(facts, "990000000", "1990000000"), facts);
  EXPECT_EQ(rows("SELECT MAX(u.start_ns + u.duration_ns) = MIN(m.start_ns) FROM step u JOIN step m ON m.shard_id = "
                 "u.shard_id JOIN shard s ON s.id = u.shard_id WHERE u.kind = 'untraced' AND m.kind = 'measured' AND "
                 "s.rank = 0"),
            Rows{"1"});
}

TEST_F(JobFacts, AStepInWhichTheJobEndedIsNone) {
  const std::string ended = replaced(facts, R"("format": 1)", R"("format": 1, "last_step": 1)");
  read(ended, ended);
  EXPECT_EQ(rows("SELECT DISTINCT step FROM step WHERE kind = 'measured' ORDER BY step"), (Rows{"0", "1"}));
}

TEST_F(JobFacts, ImpossibleValuesCountAsUnknown) {
  std::string odd = replaced(facts, R"("batch": 48)", R"("batch": -3)");
  odd = replaced(odd, R"("threads": 3)", R"("threads": "many")");
  odd = replaced(odd, R"("cores": 12)", R"("cores": 99999999999999999999)");
  odd = replaced(odd, "900000", "-900000");
  read(odd, odd);
  EXPECT_EQ(rows("SELECT batch_per_worker, threads_per_rank FROM measurement"), Rows{"32 1"}) << "32: of the shapes";
  EXPECT_EQ(rows("SELECT cores FROM measurement"), Rows{"2"}) << "as many as ranks";
  EXPECT_EQ(rows("SELECT COUNT(*) FROM step WHERE kind = 'untraced'"), Rows{"0"});
}

// ZeRO 1 and 2 also reduce gradients by all-reduces, so that their traces look like those of DDP.
TEST_F(JobFacts, StatedShardingIsReportedAndNotPredicted) {
  const std::string sharded = replaced(facts, R"("format": 1)", R"("format": 1, "sharding": "ZeRO stage 1")");
  read(sharded, sharded);
  EXPECT_EQ(rows("SELECT strategy FROM measurement"), Rows{"sharded"});
  EXPECT_THAT(imported_.told.find("sharded_data_parallel")->second.message, HasSubstr("ZeRO stage 1"));
}

TEST_F(JobFacts, ABatchThatVariesIsReported) {
  const auto with = [](const char* others) {
    return replaced(facts, R"("batch": 48)",
                    R"("batch": 48, "batch_least": 12, "batch_most": 48, "batch_forwards": 20, "batch_others": )" +
                        std::string(others));
  };
  read(with("2"), with("2"));
  EXPECT_EQ(rows("SELECT batch_per_worker FROM measurement"), Rows{"48"});
  EXPECT_EQ(rows("SELECT DISTINCT severity FROM diagnostic WHERE code = 'batch_varies'"), Rows{"info"});
  EXPECT_THAT(imported_.told.find("batch_varies")->second.message,
              HasSubstr("most forwards have 48 samples, 2 of 20 have between 12 and 48"));
  read(with("9"), with("9"));
  EXPECT_EQ(rows("SELECT DISTINCT severity FROM diagnostic WHERE code = 'batch_varies'"), Rows{"warning"});
}

// The samples of a step are those of all ranks.
TEST_F(JobFacts, BatchesThatDifferBetweenRanksHaveTheirMean) {
  read(facts, replaced(facts, R"("batch": 48)", R"("batch": 16)"));
  EXPECT_EQ(rows("SELECT batch_per_worker FROM measurement"), Rows{"32"});
  EXPECT_THAT(imported_.told.find("ranks_unlike")->second.message,
              testing::AllOf(HasSubstr("rank 0 (rank0.json) 48"), HasSubstr("rank 1 (rank1.json) 16"),
                             testing::Not(HasSubstr("most ranks"))));
}

TEST_F(JobFacts, ScheduledAndSeveralLearningRatesAreReported) {
  const std::string scheduled = replaced(facts, R"("learning_rate": 0.0125)",
                                         R"("learning_rate": 0.1, "learning_rate_of_step": 0.001, )"
                                         R"("learning_rates": [0.0001, 0.1, "x", -1], "other_optimizers": ["SGD"])");
  read(scheduled, scheduled);
  EXPECT_EQ(rows("SELECT json_extract(options, '$.learning_rate') FROM measurement"), Rows{"0.1"});
  EXPECT_THAT(imported_.told.find("learning_rate_scheduled")->second.message,
              HasSubstr("it was 0.001 before the traced steps; the rate that the scheduler was given is 0.1"));
  EXPECT_THAT(imported_.told.find("learning_rates_differ")->second.message, HasSubstr("(0.0001, 0.1)"));
  EXPECT_THAT(imported_.told.find("several_optimizers")->second.message,
              HasSubstr("other optimizers (SGD): steps, learning rate and its rule are those of AdamW"));
}

TEST_F(JobFacts, AveragesOfAdamAreStored) {
  const auto with = [](const char* betas) {
    return replaced(facts, R"("optimizer": "AdamW")", R"("optimizer": "AdamW", "betas": )" + std::string(betas));
  };
  read(with("[0.5, 0.95]"), with("[0.5, 0.95]"));
  EXPECT_EQ(rows("SELECT json_extract(options, '$.betas[0]'), json_extract(options, '$.betas[1]') FROM measurement"),
            Rows{"0.5 0.95"});
  read(with("[0.5, 1.5]"), with("[0.5, null]"));
  EXPECT_EQ(rows("SELECT json_extract(options, '$.betas') IS NULL FROM measurement"), Rows{"1"});
}

TEST_F(JobFacts, AnUnknownFormatIsReported) {
  read(replaced(facts, R"("format": 1)", R"("format": 2)"), facts);
  EXPECT_GE(imported_.told.count("bad_event"), 1U);
}

TEST_F(JobFacts, AccumulationThatDiffersFromTheTraceIsReported) {
  read(replaced(facts, R"("accumulation": 1)", R"("accumulation": 4)"), facts);
  EXPECT_EQ(imported_.told.count("accumulation_differs"), 1U);
}

}  // namespace
}  // namespace ddpprof::import
