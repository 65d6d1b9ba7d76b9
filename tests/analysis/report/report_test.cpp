// Reports of the synthetic run. Every expected number is derived in the head of synthetic_run.hpp or next to the
// expectation.
#include "analysis/report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/metrics/measured.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/core/display.hpp"
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
  EXPECT_THAT(text, testing::HasSubstr("the part of collectives that is proportional to their bytes"));
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

// Equal samples of a step at every N are a kept global batch.
TEST(ReportPredictions, NameTheEfficiencyThatTheyHave) {
  std::vector<store::PredictionRow> rows(4);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].strategy = i < 2 ? "ddp" : "fsdp";
    rows[i].world_size = i % 2 == 0 ? 1 : 8;
    rows[i].step_s = i % 2 == 0 ? 0.8 : 0.12;
    rows[i].throughput = (i < 2 || i == 2 ? 64.0 : 512.0) / rows[i].step_s;
  }
  const auto title = [](const std::vector<store::PredictionRow>& some) {
    const report::Table made = report::predictions_table(some);
    return std::ranges::find(made.columns, "efficiency", &report::Column::name)->title;
  };
  EXPECT_EQ(title({rows[0], rows[1]}), "strong efficiency");
  EXPECT_EQ(title({rows[2], rows[3]}), "weak efficiency");
  EXPECT_EQ(title(rows), "efficiency");
  EXPECT_THAT(report::predictions_table(rows).note,
              testing::HasSubstr("Efficiency: strong for ddp, which keeps the global batch, otherwise weak."));
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

TEST(Units, MeansOfBytesHaveAUnitEach) {
  report::Table table;
  table.columns = {report::quantity("sent", "sent", "bytes")};
  table.rows = {{8388608.0}, {12.4}};
  const std::vector<report::ShownColumn> shown = report::show(table);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].cells, (std::vector<std::string>{"8 MiB", "12 B"}));
  EXPECT_EQ(shown[0].unit, "");
}

TEST(Units, MeasuredValuesShareAUnitAndAvoidExponents) {
  EXPECT_EQ(units::format_measured(9.881760604980686e-10, 2.275e-9, "s/byte"), "988 ± 2300 µs/MB");
  EXPECT_EQ(units::format_measured(0.0, 2.3e-6, "s"), "0 ± 2.3 µs");
  EXPECT_EQ(units::format_measured(0.763, std::nan(""), ""), "0.763");
  EXPECT_EQ(units::format_significant(9.99996, 4), "10.00");
  EXPECT_EQ(units::format_significant(-129174.853, 4), "-129200");
  EXPECT_EQ(units::format_significant(0.0, 4), "0");
  EXPECT_EQ(units::format_significant(-4e-17, 4), "0") << "below all decimals";
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
