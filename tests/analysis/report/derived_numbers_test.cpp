// Numbers and sentences that reports derive, each shown by a small database of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "analysis/metrics/measured.hpp"
#include "analysis/report/render/render.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof {
namespace {

using report::Format;

// Steps of 100 ms at N = 1 and 125 ms at N = 2: 1.6 times the throughput. Predicted: 200 ms at N = 4, 60 % of it
// exposed; the interval at N = 64 spans a factor of 200, so its middle is not named.
TEST(ReportDerived, TheAnswerComesFirstInWords) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("answer_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    for (const std::int64_t workers : {1, 2}) {
      const std::int64_t id = run.measurement(test::train("ddp", workers));
      for (std::int64_t rank = 0; rank < workers; ++rank) {
        const std::int64_t shard = run.shard(id, rank);
        const std::int64_t took = (75 + 25 * workers) * test::ms;
        for (std::int64_t i = 0; i < 8; ++i) run.step(shard, i, i * took, took, 80 * test::ms, 0, 0, 0);
      }
    }
    store::Inserter<store::PredictionRow> predictions(run.database);
    store::PredictionRow row;
    row.strategy = "ddp";
    row.world_size = 4;
    row.step_s = 0.2, row.step_low_s = 0.15, row.step_high_s = 0.3, row.confidence = 0.9;
    row.exposed_s = 0.12;
    row.efficiency = 0.5;
    row.bound = "bandwidth";
    row.extrapolation = 2;
    predictions.insert(row);
    row.world_size = 64;
    row.step_s = 3, row.step_low_s = 0.2, row.step_high_s = 40;
    row.extrapolation = 32;
    predictions.insert(row);
  }
  store::Database database = store::Database::open_read(path);
  std::ostringstream out;
  render(report::build_report(database, "summary"), Format::table, out, 1000);
  std::filesystem::remove(path);
  EXPECT_THAT(out.str(), testing::StartsWith("Answer\n"));
  for (const char* sentence :
       {"N = 2: 125 ms per step", "1.60 × the throughput of N = 1 (weak efficiency 80.0 %)",
        "Throughput is highest at N = 64 (predicted with a wide interval, the largest N here), but "
        "the intervals allow that N = 1 is as fast. Communication as a whole is more than half of the step from N = 4 on.",
        "N = 64: 200 ms to 40 s per step (90 %).",
        "At N = 64 bandwidth (the part of collectives that is proportional "
        "to their bytes)."})
    EXPECT_THAT(out.str(), testing::HasSubstr(sentence));
}

TEST(ReportDerived, OversubscriptionMissingRanksAndFailuresAreSaidInWords) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("derived_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    store::MeasurementRow crowded = test::train("ddp", 4);
    crowded.oversubscription = 2.0;
    crowded.status = "partial";
    crowded.message = "rank 3 died";
    const std::int64_t id = run.measurement(crowded);
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      const std::int64_t shard = run.shard(id, rank);
      for (std::int64_t i = 0; i < (rank == 3 ? 1 : 2); ++i) {
        run.step(shard, i, 100 * i * test::ms, (100 + 100 * i) * test::ms, 0, 0, 0, 0);
      }
    }
  }
  store::Database database = store::Database::open_read(path);
  std::ostringstream out;
  render(report::build_report(database, "summary"), Format::json, out);
  std::filesystem::remove(path);
  std::map<std::string, std::string> said;
  const auto document = nlohmann::json::parse(out.str());
  for (const auto& table : document["tables"]) {
    if (table["name"] == "notices") {
      for (const auto& r : table["rows"]) said[r["code"]] = r["message"];
    }
    if (table["name"] == "step") {
      EXPECT_EQ(table["rows"][0]["steps"], 1);  // rank 3 has no second step
      EXPECT_DOUBLE_EQ(table["rows"][0]["step_median_s"], 0.1);
    }
  }
  EXPECT_EQ(said["oversubscribed"],
            "4 compute threads share 2 cores (2 threads per core): the step times include waiting for a core.");
  EXPECT_EQ(said["measurement_partial"], "partial: rank 3 died");
  EXPECT_EQ(said["incomplete_steps"], "Left out: 1 measured step that at least one rank did not record.");
}

// Three repeats of 40 steps of 100, 101 and 130 ms, ± 1 %. With 120 independent steps the median, 101 ms, would have an
// interval of about 1 ms. The difference of 30 ms between repeats is visible only if whole repeats are resampled.
TEST(ReportDerived, RepeatsThatDifferWidenTheInterval) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("repeats_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    for (std::int64_t repeat = 0; repeat < 3; ++repeat) {
      store::MeasurementRow row = test::train("ddp", 1);
      row.repeat = repeat;
      const std::int64_t shard = run.shard(run.measurement(row), 0);
      const std::int64_t base_us = repeat == 0 ? 100'000 : repeat == 1 ? 101'000 : 130'000;
      for (std::int64_t i = 0; i < 40; ++i)
        run.step(shard, i, i * 200 * test::ms, (base_us + (i * 7 % 41 - 20) * 50) * 1000, 0, 0, 0, 0);
    }
  }
  store::Database database = store::Database::open_read(path);
  const auto configurations = metrics::read_configurations(database.sql());
  std::ostringstream out;
  render(report::build_report(database, "summary"), Format::json, out);
  std::filesystem::remove(path);
  ASSERT_EQ(configurations.size(), 1U);
  const stats::Interval interval = metrics::median_of(configurations[0].measured, &metrics::RunStep::duration_s);
  EXPECT_NEAR(interval.mid, 0.101, 0.001);
  EXPECT_GT(interval.high, 0.125);
  EXPECT_LT(interval.achieved_confidence, 0.95);  // three different repeats: 1 - 2^-2
  EXPECT_THAT(out.str(), testing::HasSubstr("(120 steps in 3 repeats)"));
}

// With one worker a collective transfers nothing: the bandwidth is empty, and the row is marked as local.
TEST(ReportDerived, WithOneWorkerAnAllReduceIsLocal) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("local_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    const std::int64_t shard = run.shard(run.measurement(test::train("ddp", 1)), 0);
    const std::int64_t id = run.step(shard, 0, 0, 100 * test::ms, 90 * test::ms, 10 * test::ms, 10 * test::ms, 0);
    run.collective(shard, id, 0, 0, 1 << 20, 40 * test::ms, 42 * test::ms, 43 * test::ms, test::ms);
  }
  store::Database database = store::Database::open_read(path);
  std::ostringstream out;
  render(report::build_report(database, "collectives"), Format::json, out);
  std::filesystem::remove(path);
  const auto rows = nlohmann::json::parse(out.str())["tables"][0]["rows"];
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["op"], "local all_reduce");
  EXPECT_TRUE(rows[0]["algbw_bytes_per_s"].is_null());
}

// If NCCL's choices were recorded, collectives are grouped by them. Otherwise the table does not have these columns.
TEST(ReportDerived, CollectivesAreShownByWhatNcclChose) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("chosen_" + std::to_string(getpid()) + ".db");
  const auto columns_and_rows = [&](const std::string& change) {
    test::SyntheticRun run(path);
    run.fill();
    if (!change.empty()) run.database.sql().exec(change);
    std::ostringstream out;
    render(report::build_report(run.database, "collectives"), Format::json, out);
    return nlohmann::json::parse(out.str())["tables"][0]["rows"];
  };
  const auto plain = columns_and_rows("");
  EXPECT_FALSE(plain[0].contains("algorithm"));
  std::filesystem::remove(path);
  const auto chosen = columns_and_rows(
      "UPDATE collective SET datatype = 'float32', channels = 2 + 2 * (sequence % 2), protocol = 'LL', algorithm = "
      "CASE "
      "WHEN sequence < (SELECT max(sequence) FROM collective) THEN 'RING' ELSE 'TREE' END");
  std::filesystem::remove(path);
  EXPECT_GT(chosen.size(), plain.size());  // one bucket with two protocols has two rows
  std::set<std::string> algorithms;
  for (const auto& row : chosen) {
    algorithms.insert(row["algorithm"].get<std::string>());
    EXPECT_EQ(row["protocol"], "LL");
    EXPECT_EQ(row["datatype"], "float32");
    EXPECT_TRUE(row["channels"] == "2" || row["channels"] == "4" || row["channels"] == "2–4") << row["channels"];
  }
  EXPECT_EQ(algorithms, (std::set<std::string>{"RING", "TREE"}));
}

// A forked data loader also has a shard of rank 0, and a helper process has one of rank -1. Neither makes a step
// incomplete. If the shard of one rank is missing, the measurement has no complete step.
TEST(ReportDerived, StepsAreCompleteByRanksNotByShards) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("complete_" + std::to_string(getpid()) + ".db");
  {
    test::SyntheticRun run(path);
    const std::int64_t whole = run.measurement(test::train("ddp", 2));
    for (std::int64_t rank = 0; rank < 2; ++rank) run.step(run.shard(whole, rank), 0, 0, 100 * test::ms, 0, 0, 0, 0);
    run.shard(whole, 0);
    run.shard(whole, -1);
    const std::int64_t lacking = run.measurement(test::train("ddp", 3));
    for (std::int64_t rank = 0; rank < 2; ++rank) run.step(run.shard(lacking, rank), 0, 0, 100 * test::ms, 0, 0, 0, 0);
  }
  store::Database database = store::Database::open_read(path);
  const auto configurations = metrics::read_configurations(database.sql());
  std::filesystem::remove(path);
  ASSERT_EQ(configurations.size(), 2U);
  EXPECT_EQ(configurations[0].measured.size(), 1U);
  EXPECT_EQ(configurations[0].incomplete_steps, 0);
  EXPECT_EQ(configurations[1].measured.size(), 0U);
  EXPECT_EQ(configurations[1].incomplete_steps, 1);
}

TEST(ReportDerived, AnEmptyDatabaseHasReportsThatSayWhy) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("empty_" + std::to_string(getpid()) + ".db");
  store::Database::create(path, store::Replace::yes);
  store::Database database = store::Database::open_read(path);
  for (const auto& info : report::report_names()) {
    std::ostringstream out;
    EXPECT_NO_THROW(render(report::build_report(database, info.name), Format::table, out)) << info.name;
  }
  std::ostringstream out;
  render(report::build_report(database, "steps"), Format::table, out);
  EXPECT_THAT(out.str(), testing::HasSubstr("ddpprof run SCENARIO.yaml"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ddpprof
