// Reports of the machine's conditions and of unstable steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/metrics/conditions.hpp"
#include "analysis/metrics/stability.hpp"
#include "analysis/report/render/render.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ConditionsTest : public testing::Test {
 protected:
  ConditionsTest()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("conditions_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name() + ".db")),
        run_(path_) {}
  ~ConditionsTest() override { std::filesystem::remove(path_); }

  // One measurement of ddp at N = 1. Step i takes `ms_of(i)` milliseconds.
  template <class MsOf>
  std::int64_t measure(std::int64_t steps, MsOf&& ms_of, std::int64_t repeat = 0, std::int64_t workers = 1) {
    store::MeasurementRow row = test::train("ddp", workers);
    row.repeat = repeat;
    row.kind = kind_;
    store::BulkLoad load(run_.database);
    const std::int64_t id = run_.measurement(row);
    for (std::int64_t rank = 0; rank < workers; ++rank) {
      const std::int64_t shard = run_.shard(id, rank);
      for (std::int64_t i = 0; i < steps; ++i)
        run_.step(shard, i, i * 1000 * test::ms, static_cast<std::int64_t>(ms_of(i) * 1e6), 0, 0, 0, 0);
    }
    load.commit();
    return id;
  }

  store::HostConditionRow quiet(std::int64_t measurement) {
    store::HostConditionRow row;
    row.measurement_id = measurement;
    row.host = "node";
    row.ranks = 1;
    row.window_ns = 4'000'000'000;
    row.cpus = 2;
    row.ranks_share = 0.5;
    row.others_share = 0.01;
    row.interrupt_share = 0.002;
    row.steal_share = 0.0;
    row.frequency_begin_hz = row.frequency_end_hz = 3e9;
    row.load_begin = 0.5;
    row.load_end = 1.0;
    row.thermal_throttles = 0;
    row.quota_throttled_ns = 0;
    row.voluntary_switches = 100;
    row.involuntary_switches = 5;
    row.major_faults = 0;
    return row;
  }
  void add(const store::HostConditionRow& row) { store::Inserter<store::HostConditionRow>(run_.database).insert(row); }

  nlohmann::json rows(const std::string& report, const std::string& name) {
    std::ostringstream out;
    render(report::build_report(run_.database, report), report::Format::json, out);
    const auto document = nlohmann::json::parse(out.str());
    for (const auto& table : document["tables"]) {
      if (table["name"] == name) return table["rows"];
    }
    return nlohmann::json::array();
  }
  // code → {message, advice}
  std::map<std::string, std::pair<std::string, std::string>> notices() {
    std::map<std::string, std::pair<std::string, std::string>> said;
    for (const auto& row : rows("summary", "notices")) said[row["code"]] = {row["message"], row["advice"]};
    return said;
  }

  std::filesystem::path path_;
  test::SyntheticRun run_;
  std::string kind_ = "train";  // of the measurements
};

// ± 1 %, without a trend.
double steady(std::int64_t i) { return 100.0 + static_cast<double>(i * 7 % 11 - 5) * 0.2; }

TEST_F(ConditionsTest, AQuietMachineAndSteadyStepsGiveNoNotice) {
  add(quiet(measure(50, steady)));
  EXPECT_THAT(notices(), IsEmpty());
  const auto row = rows("conditions", "conditions").at(0);
  EXPECT_DOUBLE_EQ(row["window_s"], 4.0);
  EXPECT_DOUBLE_EQ(row["others_share"], 0.01);
  EXPECT_EQ(row["involuntary_switches"], 5);
  const auto stable = rows("conditions", "stability").at(0);
  EXPECT_EQ(stable["verdict"], "steady");
  EXPECT_EQ(stable["outliers"], 0);
  EXPECT_TRUE(stable["outlier_place"].is_null());
}

TEST_F(ConditionsTest, WhatDisturbedIsNamedWithItsWorstValue) {
  store::HostConditionRow first = quiet(measure(50, steady, 0)), second = quiet(measure(50, steady, 1));
  first.others_share = 0.08;
  second.others_share = 0.31;
  second.steal_share = 0.04;
  second.frequency_end_hz = 2.4e9;
  second.thermal_throttles = 3;
  second.quota_throttled_ns = 400'000'000;
  second.major_faults = 5000;
  add(first);
  add(second);
  auto said = notices();
  EXPECT_EQ(said["busy_machine"].first,
            "Other processes took 31.0 % of the processors' time during the measurement on node, in 2 of 2 repeats.");
  EXPECT_THAT(said["busy_machine"].second, HasSubstr("ddpprof doctor"));
  EXPECT_EQ(said["steal_time"].first,
            "The hypervisor gave 4.0 % of the processors' time to other machines on node, in 1 of 2 repeats.");
  EXPECT_EQ(said["frequency_moved"].first,
            "The processor's frequency fell by 20.0 % during the measurement on node, in 1 of 2 repeats.");
  EXPECT_THAT(said["too_hot"].first, HasSubstr("throttled 3 times"));
  EXPECT_THAT(said["quota_throttled"].first, HasSubstr("5.0 % of the processors' time"));
  EXPECT_THAT(said["paging"].first, HasSubstr("5000 pages"));
}

TEST_F(ConditionsTest, WhatWasNotReadableIsNoDisturbance) {
  store::HostConditionRow row;
  row.measurement_id = measure(50, steady);
  row.host = "node";
  row.window_ns = 100;
  add(row);
  EXPECT_THAT(notices(), IsEmpty());
  EXPECT_TRUE(rows("conditions", "conditions").at(0)["steal_share"].is_null());
}

TEST_F(ConditionsTest, WorkerCountsAtDifferentFrequenciesAreNotComparedInSilence) {
  store::HostConditionRow one = quiet(measure(50, steady, 0, 1)), two = quiet(measure(50, steady, 0, 2));
  one.frequency_begin_hz = one.frequency_end_hz = 4e9;
  add(one);
  add(two);
  EXPECT_EQ(notices()["frequencies_differ"].first,
            "ddp N=1 ran at 4 GHz, ddp N=2 at 3 GHz. Part of the difference between them is due to the processor's "
            "frequency.");
}

TEST(Threads, RecordedRanksWithOtherThreadsAreNotComparedInSilence) {
  metrics::Configuration one, two;
  one.kind = two.kind = "import";
  one.device = two.device = "cpu";
  one.strategy = two.strategy = "ddp";
  one.world_size = 1, two.world_size = 2;
  one.threads_per_rank = 2, two.threads_per_rank = 1;
  EXPECT_EQ(metrics::threads_apart({one, two}).value().message,
            "ddp N=1 ran with 2 threads per rank, N=2 ran with 1 thread per rank. Part of the difference between them is "
            "due to the threads.");
  two.threads_per_rank = 2;
  EXPECT_FALSE(metrics::threads_apart({one, two}));
  two.threads_per_rank = 1;
  one.kind = two.kind = "train";
  EXPECT_FALSE(metrics::threads_apart({one, two})) << "a scenario divides the cores by N";
}

TEST_F(ConditionsTest, DriftIsMeasuredAndNamed) {
  measure(100, [](std::int64_t i) { return steady(i) + 0.2 * static_cast<double>(i); });  // 100 to 120 ms
  auto said = notices();
  EXPECT_THAT(said["drift"].first, HasSubstr("% longer from the first to the last measured one"));
  const auto row = rows("conditions", "stability").at(0);
  EXPECT_NEAR(row["change"], 19.8 / 110.0, 0.01);
  EXPECT_LT(row["drift_p"], 1e-6);
  EXPECT_EQ(row["verdict"], "drifts");
}

TEST_F(ConditionsTest, WarmupAmongTheMeasuredStepsIsNamed) {
  measure(100, [](std::int64_t i) { return steady(i) + (i < 15 ? 40.0 : 0.0); });
  auto said = notices();
  EXPECT_EQ(said["warmup_too_short"].first, "The first 15 of 100 measured steps took 40 % longer than the rest.");
  EXPECT_THAT(said["warmup_too_short"].second, HasSubstr("Increase measure.warmup_steps, or set it to auto"));
  EXPECT_EQ(said.count("drift"), 0u);  // one finding, one notice
  EXPECT_EQ(rows("conditions", "stability").at(0)["unsettled_steps"], 15);
}

TEST_F(ConditionsTest, OneRepeatsWarmupDoesNotHideAnothersDrift) {
  measure(
      100, [](std::int64_t i) { return steady(i) + (i < 15 ? 40.0 : 0.0); }, 0);
  measure(
      100, [](std::int64_t i) { return steady(i) * (1.0 + 0.003 * static_cast<double>(i)); }, 1);
  auto said = notices();
  EXPECT_THAT(said["warmup_too_short"].first, HasSubstr("in 1 of 2 repeats"));
  EXPECT_THAT(said["drift"].first, HasSubstr("in 1 of 2 repeats"));
}

TEST_F(ConditionsTest, ALevelThatChangesLateIsNoWarmup) {
  measure(100, [](std::int64_t i) { return steady(i) + (i < 40 ? 20.0 : 0.0); });
  auto said = notices();
  // MSER removes batches of five steps, and the next cut may be equally good.
  EXPECT_THAT(said["level_changed"].first,
              testing::MatchesRegex("The first 4[05] of 100 measured steps took 20 % longer than the rest."));
  EXPECT_EQ(said.count("warmup_too_short"), 0u);
  EXPECT_EQ(rows("conditions", "stability").at(0)["verdict"], "level changed");
}

TEST_F(ConditionsTest, OutliersAreCountedAndPlaced) {
  measure(100, [](std::int64_t i) { return i % 10 == 3 ? 300.0 : steady(i); });
  EXPECT_EQ(notices()["outlier_steps"].first, "10 % of the steps are far above the median, every 10 steps.");
  const auto row = rows("conditions", "stability").at(0);
  EXPECT_EQ(row["outliers"], 10);
  EXPECT_EQ(row["outlier_place"], "every 10 steps");
}

TEST_F(ConditionsTest, AWeakMeasurementSaysWhy) {
  // Blocks of 15 steps of 100 and 180 ms: 60 steps that are equivalent to a few independent steps, on a shared machine.
  store::HostConditionRow row = quiet(measure(60, [](std::int64_t i) { return i / 15 % 2 == 0 ? steady(i) : 180.0; }));
  row.others_share = 0.4;
  add(row);
  const auto said = notices()["noisy_median"];
  EXPECT_THAT(said.first, HasSubstr("(60 steps in 1 repeat)"));
  EXPECT_THAT(said.first, HasSubstr("Other processes took 40.0 %"));
  EXPECT_THAT(said.first, HasSubstr("the median of 60 steps is only as precise as that of"));
  EXPECT_THAT(said.first, Not(HasSubstr("Too few")));
  EXPECT_THAT(said.second, HasSubstr("End these processes and measure again"));
}

TEST_F(ConditionsTest, FewStepsAndRepeatsThatDifferAreReasonsToo) {
  measure(6, [](std::int64_t i) { return 100.0 + 30.0 * static_cast<double>(i % 3); });
  EXPECT_THAT(notices()["noisy_median"].first, HasSubstr("(6 steps in 1 repeat). Too few steps."));
  EXPECT_THAT(notices()["noisy_median"].second, HasSubstr("(measure.steps)"));
}

// Regression: an import was advised to change keys of a scenario, which it does not have.
TEST_F(ConditionsTest, AnImportIsNotAdvisedToChangeAScenario) {
  kind_ = "import";
  measure(6, [](std::int64_t i) { return 100.0 + 30.0 * static_cast<double>(i % 3); });
  const auto said = notices()["noisy_median"];
  EXPECT_THAT(said.first, HasSubstr("(6 steps in 1 repeat)"));
  EXPECT_THAT(said.second, HasSubstr("ddpprof import --append"));
  for (const auto& [code, notice] : notices()) EXPECT_THAT(notice.second, Not(HasSubstr("measure."))) << code;
}

TEST_F(ConditionsTest, RepeatsThatDifferAreTheReason) {
  for (std::int64_t repeat = 0; repeat < 3; ++repeat)
    measure(
        40, [&](std::int64_t i) { return steady(i) * (1.0 + 0.2 * static_cast<double>(repeat)); }, repeat);
  const auto said = notices()["noisy_median"];
  EXPECT_THAT(said.first, HasSubstr("The repeats differ: their medians spread over 40 %."));
  EXPECT_THAT(said.second, HasSubstr("measure.repeats"));
}

}  // namespace
}  // namespace ddpprof
