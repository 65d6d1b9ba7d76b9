// Reports of the synthetic run. Every expected number is derived in the head of synthetic_run.hpp or next to the
// expectation.
#include "analysis/report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/metrics/measured.hpp"
#include "analysis/report/render/render.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "simulator/units/units.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof {
namespace {

using report::Format;

class ReportTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    path_ = std::filesystem::path(testing::TempDir()) / ("report_test_" + std::to_string(getpid()) + ".db");
    test::SyntheticRun(path_).fill();
  }
  static void TearDownTestSuite() { std::filesystem::remove(path_); }

  static std::string rendered(const std::string& name, Format format, int width = 0) {
    store::Database database = store::Database::open_read(path_);
    std::ostringstream out;
    render(report::build_report(database, name), format, out, width);
    return out.str();
  }
  static nlohmann::json table(const std::string& report, const std::string& name) {
    const auto document = nlohmann::json::parse(rendered(report, Format::json));
    for (const auto& t : document["tables"]) {
      if (t["name"] == name) return t;
    }
    ADD_FAILURE() << "no table " << name << " in report " << report;
    return {};
  }
  // The row whose fields include those of `key`.
  static nlohmann::json row(const std::string& report, const std::string& name, const nlohmann::json& key) {
    const auto found = table(report, name);
    for (const auto& candidate : found["rows"]) {
      bool same = true;
      for (const auto& [field, value] : key.items()) same = same && candidate[field] == value;
      if (same) return candidate;
    }
    ADD_FAILURE() << "no row " << key << " in " << name;
    return {};
  }

  static std::filesystem::path path_;
};
std::filesystem::path ReportTest::path_;

const nlohmann::json ddp2 = {{"strategy", "ddp"}, {"workers", 2}, {"global_batch_samples", 64}};

TEST_F(ReportTest, StepIsTheMeanOverTheRanksThenTheMedianOverSteps) {
  const auto r = row("summary", "step", ddp2);
  EXPECT_DOUBLE_EQ(r["step_median_s"], 0.12625);  // of 115, 122.5, 130, 145 ms
  EXPECT_DOUBLE_EQ(r["step_low_s"], 0.115);       // 4 samples: the whole range
  EXPECT_DOUBLE_EQ(r["step_high_s"], 0.145);
  EXPECT_EQ(r["steps"], 4);
}

TEST_F(ReportTest, ThroughputSpeedupEfficiencyAndOverheadFollowFromTheMedians) {
  const auto r = row("summary", "step", ddp2);
  EXPECT_DOUBLE_EQ(r["throughput_samples_per_s"], 64 / 0.12625);
  EXPECT_DOUBLE_EQ(r["speedup"], (64 / 0.12625) / 320.0);  // N = 1: 32 samples in 100 ms
  EXPECT_DOUBLE_EQ(r["weak_efficiency"], (64 / 0.12625) / 640.0);
  EXPECT_DOUBLE_EQ(r["communication_overhead"], 0.030 / 0.12625);
  EXPECT_DOUBLE_EQ(r["unwrapped_median_s"], 0.1);
  EXPECT_DOUBLE_EQ(r["wrapper_cost_s"], 0.12625 - 0.1);
}

TEST_F(ReportTest, WithoutOneWorkerThereIsNoSpeedup) {
  const auto r = row("summary", "step", {{"strategy", "dp"}, {"workers", 2}});
  EXPECT_TRUE(r["speedup"].is_null());
  EXPECT_TRUE(r["weak_efficiency"].is_null());
  EXPECT_TRUE(r["wrapper_cost_s"].is_null());
}

TEST_F(ReportTest, PartsAreMeansOverTheRanks) {
  const auto r = row("phases", "time", ddp2);
  EXPECT_DOUBLE_EQ(r["compute_s"], 0.085);  // 90 and 80 ms
  EXPECT_DOUBLE_EQ(r["skew_s"], 0.002);     // 4 and 0 ms
  EXPECT_DOUBLE_EQ(r["exposed_s"], 0.030);
}

TEST_F(ReportTest, StrongEfficiencyPairsEqualGlobalBatches) {
  const auto rows = table("efficiency", "strong_scaling")["rows"];
  ASSERT_EQ(rows.size(), 1U);  // 2 × 16 samples against 1 × 32
  EXPECT_DOUBLE_EQ(rows[0]["step_median_s"], 0.080);
  EXPECT_DOUBLE_EQ(rows[0]["speedup"], 100.0 / 80.0);
  EXPECT_DOUBLE_EQ(rows[0]["strong_efficiency"], 0.100 / (2 * 0.080));
}

TEST_F(ReportTest, OverlapStatesItsRule) {
  EXPECT_THAT(table("overlap", "overlap")["note"], testing::HasSubstr("overlapped = communication ∩ compute"));
  EXPECT_DOUBLE_EQ(row("overlap", "overlap", ddp2)["overlapped_share"], 20.0 / 50.0);
}

TEST_F(ReportTest, CollectivesAreMatchedOverTheRanks) {
  const auto r = row("collectives", "collectives", {{"bucket", 0}});
  EXPECT_EQ(r["collectives"], 4);            // one a step, two ranks each
  EXPECT_DOUBLE_EQ(r["duration_s"], 0.022);  // 24 and 20 ms
  EXPECT_DOUBLE_EQ(r["transfer_s"], 0.020);
  EXPECT_DOUBLE_EQ(r["skew_s"], 0.002);
  EXPECT_DOUBLE_EQ(r["launch_delay_s"], 0.001);
  EXPECT_DOUBLE_EQ(r["queue_s"], 0.002);
  EXPECT_DOUBLE_EQ(r["algbw_bytes_per_s"], 1048576 / 0.020);
  EXPECT_DOUBLE_EQ(r["busbw_bytes_per_s"], 1048576 / 0.020);  // 2(N-1)/N = 1 at N = 2
}

TEST_F(ReportTest, CommTakesTheSlowestRankAndNcclTestsColumns) {
  const auto r = table("comm", "comm")["rows"][0];
  EXPECT_DOUBLE_EQ(r["time_median_s"], 0.002);  // of 1, 2, 3 ms on rank 0
  EXPECT_DOUBLE_EQ(r["algbw_bytes_per_s"], 1048576 / 0.002);
  EXPECT_DOUBLE_EQ(r["busbw_bytes_per_s"], 1048576 / 0.002 * 1.5);  // 2·3/4
}

TEST_F(ReportTest, SkewNamesTheSlowRank) {
  const auto slow = row("skew", "skew", {{"strategy", "ddp"}, {"global_batch_samples", 64}, {"rank", 0}});
  EXPECT_DOUBLE_EQ(slow["compute_against_mean"], 90.0 / 85.0 - 1.0);
  EXPECT_DOUBLE_EQ(slow["slowest_share"], 1.0);
  EXPECT_DOUBLE_EQ(slow["skew_median_s"], 0.004);
}

TEST_F(ReportTest, NoticesMergeRanksAndPutErrorsFirst) {
  const auto first = table("summary", "notices")["rows"][0];
  EXPECT_EQ(first["severity"], "error");
  EXPECT_EQ(first["about"], "ddp N=2");
  EXPECT_EQ(first["count"], 6);  // 3 on each of two ranks
  EXPECT_EQ(first["ranks"], "0, 1");
}

TEST_F(ReportTest, KneeIsTheFirstNAboveTheShareMeasuredBeforePredicted) {
  // Exposed: 30 / 127.5 = 23.5 % measured at N = 2; (110 + 4) / 200 = 57 % predicted at N = 8,
  // where 4 are waiting for slower ranks.
  const auto tenth = row("predictions", "knee", {{"strategy", "ddp"}, {"threshold", 0.1}});
  EXPECT_EQ(tenth["knee_workers"], 2);
  EXPECT_EQ(tenth["source"], "measured");
  const auto half = row("predictions", "knee", {{"strategy", "ddp"}, {"threshold", 0.5}});
  EXPECT_EQ(half["knee_workers"], 8);
  EXPECT_EQ(half["source"], "predicted");
  EXPECT_DOUBLE_EQ(half["exposed_share"], 0.114 / 0.2);
  EXPECT_TRUE(row("predictions", "knee", {{"strategy", "dp"}, {"threshold", 0.5}})["knee_workers"].is_null());
}

// dp's exposed share at N = 1 would also exceed 10 %, but one worker does not communicate.
TEST_F(ReportTest, KneeStartsAtTwoWorkers) {
  const std::vector<metrics::MeasuredScaling> measured = {
      {"dp", {1, 1.0, 0.2}}, {"dp", {2, 1.0, 0.05}}, {"dp", {4, 1.0, 0.15}}};
  const report::Table knee = report::knee_table(measured, {});
  ASSERT_EQ(knee.rows.size(), 3U);
  EXPECT_EQ(std::get<std::int64_t>(knee.rows[0][3]), 4);
}

TEST_F(ReportTest, PredictionsNameTheirConfidenceAndExplainTheirBound) {
  const auto text = rendered("predictions", Format::table);
  EXPECT_THAT(text, testing::HasSubstr("90 %"));
  EXPECT_THAT(text, testing::HasSubstr("the part of all-reduces that is proportional to their bytes"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("latency: ")));  // only terms that occur
}

// 0.144 ms at N = 1 and 129 s at large N in one column: each has four digits.
TEST(ReportPredictions, CellsHaveFourDigits) {
  std::vector<store::PredictionRow> rows(3);
  const double steps[] = {0.144e-3, 11.65312e-3, 129.174853};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].strategy = "ddp";
    rows[i].world_size = 1 << i;
    rows[i].step_s = steps[i];
    rows[i].confidence = 0.95;
  }
  std::ostringstream out;
  render({"predictions", "", {report::predictions_table(rows)}}, Format::table, out);
  EXPECT_THAT(out.str(), testing::HasSubstr(" 0.1440 "));
  EXPECT_THAT(out.str(), testing::HasSubstr(" 11.65 "));
  EXPECT_THAT(out.str(), testing::HasSubstr(" 129200 "));
  EXPECT_THAT(out.str(), testing::HasSubstr("95 %"));
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("skew")));  // 0 everywhere
}

TEST_F(ReportTest, WarmupClimbsEveryQuarter) {
  const auto rows = table("learning-rate", "warmup")["rows"];
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[2]["step"], 100);
  EXPECT_DOUBLE_EQ(rows[2]["lr"], 0.045);  // half way from 0.01 to 0.08
  EXPECT_DOUBLE_EQ(rows[4]["lr"], 0.08);
}

TEST_F(ReportTest, FitSaysItsParametersInWordsAndTypes) {
  const auto words = table("fit", "fit")["rows"][0]["parameters"].get<std::string>();
  EXPECT_EQ(words, "alpha 52 ± 1.2 µs, beta 1 ms/MB (at its bound), gamma 1 (fixed), delta 0.8 ± 0.3 (assumed)");
  const auto gamma = row("fit", "fit_parameters", {{"parameter", "gamma"}});
  EXPECT_EQ(gamma["fixed"], true);
  EXPECT_EQ(gamma["assumed"], false);
  EXPECT_EQ(row("fit", "fit_parameters", {{"parameter", "delta"}})["assumed"], true);
  EXPECT_DOUBLE_EQ(row("fit", "fit_parameters", {{"parameter", "alpha"}})["value"], 5.2e-5);
  EXPECT_NEAR(table("fit", "fit_residuals")["rows"][0]["relative_error"], 0.05, 1e-12);
}

TEST_F(ReportTest, EveryReportRendersInEveryFormatTheSameWayTwice) {
  for (const auto& info : report::report_names()) {
    for (const Format format : {Format::table, Format::csv, Format::json, Format::markdown, Format::html}) {
      const std::string once = rendered(std::string(info.name), format);
      EXPECT_FALSE(once.empty()) << info.name;
      EXPECT_EQ(once, rendered(std::string(info.name), format)) << info.name;
    }
  }
}

TEST_F(ReportTest, CsvHasOneFieldForEachHeading) {
  for (const auto& info : report::report_names()) {
    std::istringstream lines(rendered(std::string(info.name), Format::csv));
    std::string line;
    std::size_t fields = 0;
    while (std::getline(lines, line)) {
      ASSERT_TRUE(line.ends_with('\r'));
      if (line == "\r") {
        fields = 0;
        continue;
      }
      std::size_t n = 1;
      bool quoted = false;
      for (const char c : line) {
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted) ++n;
      }
      if (fields == 0) fields = n;
      EXPECT_EQ(n, fields) << info.name << ": " << line;
    }
  }
}

// Text is never wider than the given width if the key columns and one column fit.
TEST_F(ReportTest, TextFitsTheWidth) {
  for (const int width : {80, 100, 120, 200}) {
    for (const auto& info : report::report_names()) {
      std::istringstream lines(rendered(std::string(info.name), Format::table, width));
      std::string line;
      while (std::getline(lines, line)) {
        const auto columns = std::count_if(line.begin(), line.end(),
                                           [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
        EXPECT_LE(columns, width) << info.name << ": " << line;
      }
    }
  }
}

// Golden files contain complete outputs. DDPPROF_UPDATE_GOLDEN=1 writes them again.
TEST_F(ReportTest, GoldenOutputs) {
  const std::pair<Format, const char*> formats[] = {{Format::table, "txt"},
                                                    {Format::csv, "csv"},
                                                    {Format::json, "json"},
                                                    {Format::markdown, "md"},
                                                    {Format::html, "html"}};
  for (const auto& [format, extension] : formats) {
    const auto file = std::filesystem::path(DDPPROF_GOLDEN_FOLDER) / (std::string("summary.") + extension);
    const std::string now = rendered("summary", format);
    if (std::getenv("DDPPROF_UPDATE_GOLDEN") != nullptr) std::ofstream(file, std::ios::binary) << now;
    std::ifstream stored(file, std::ios::binary);
    const std::string expected{std::istreambuf_iterator<char>(stored), {}};
    EXPECT_EQ(now, expected) << file;
  }
}

TEST_F(ReportTest, AnUnknownReportNamesTheKnownOnes) {
  store::Database database = store::Database::open_read(path_);
  try {
    report::build_report(database, "sumary");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("summary, steps, phases"));
  }
}

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
        "the intervals allow that N = 1 is as fast. Communication is more than half of the step from N = 4 on.",
        "N = 64: 200 ms to 40 s per step (90 %).",
        "At N = 64 bandwidth (the part of all-reduces that is proportional "
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

TEST(Units, AColumnGetsOneUnitAndItsSmallestValueThreeDigits) {
  const double values[] = {0.0121, 0.25, 0.0};
  const units::Scale scale = units::choose_scale("s", values);
  EXPECT_EQ(scale.unit, "ms");
  EXPECT_EQ(units::format_number(0.0121, scale), "12.1");
  EXPECT_EQ(units::format_number(0.25, scale), "250.0");
  EXPECT_EQ(units::format_number(-0.00000001, scale), "0.0");  // never "-0.0"
}

// A column of zeros takes the unit of its neighbour, not seconds. Columns with only zeros may be left out.
TEST(Units, AColumnOfZerosBorrowsItsUnit) {
  report::Table table;
  for (const char* name : {"a", "b"}) {
    report::Column column;
    column.name = column.title = name;
    column.unit = "s";
    column.kind = report::Kind::real;
    table.columns.push_back(column);
  }
  table.rows = {{0.002, 0.0}, {0.003, 0.0}};
  std::ostringstream out;
  render({"r", "", {table}}, Format::table, out);
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("[s]")));
}

TEST(Units, MeasuredValuesShareAUnitAndAvoidExponents) {
  EXPECT_EQ(units::format_measured(9.881760604980686e-10, 2.275e-9, "s/byte"), "988 ± 2300 µs/MB");
  EXPECT_EQ(units::format_measured(0.0, 2.3e-6, "s"), "0 ± 2.3 µs");
  EXPECT_EQ(units::format_measured(0.763, std::nan(""), ""), "0.763");
  EXPECT_EQ(units::format_significant(9.99996, 4), "10.00");
  EXPECT_EQ(units::format_significant(-129174.853, 4), "-129200");
  EXPECT_EQ(units::format_significant(0.0, 4), "0");
}

TEST(Units, SingleQuantities) {
  EXPECT_EQ(units::format_quantity(52.1e-6, "s"), "52.1 µs");
  EXPECT_EQ(units::format_quantity(1.25e9, "bytes/s"), "1.25 GB/s");
  EXPECT_EQ(units::format_quantity(0.0, "s/byte"), "0 ns/MB");
  EXPECT_EQ(units::format_bytes(256LL << 20), "256 MiB");
  EXPECT_EQ(units::format_bytes(7'450'000), "7.10 MiB");
  EXPECT_EQ(units::format_bytes(40), "40 B");
}

}  // namespace
}  // namespace ddpprof
