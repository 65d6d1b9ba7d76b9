#include "gui/models/ranks/rank_view.hpp"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <cmath>
#include <numeric>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/report/report.hpp"
#include "analysis/report/tables/ranks/rank_tables.hpp"
#include "gui/models/report_table_model.hpp"
#include "tests/gui/ranks/ranks_fixture.hpp"

namespace ddpprof::gui {
namespace {

metrics::RankTimes read(const test::StragglerFile& file) {
  store::Database database = store::Database::open_read(file.path);
  return metrics::read_ranks(database, file.ddp);
}

TEST(RankBars, AreMeansThatAddUpWithTheMedianStepBeside) {
  const test::StragglerFile file;
  const RankBars bars = rank_bars(read(file));
  ASSERT_EQ(bars.ranks, (std::vector<std::int64_t>{0, 1, 2, 3}));
  // Rank 0: 60 ms compute, of which 10 overlapped; 22 exposed, of which 12 waiting; of the other 18, 1 is input. No
  // host.
  const double first[] = {0.050, 0.010, 0.010, 0.012, 0.0, 0.001, 0.017};
  // Rank 3: 72 ms compute, no waiting.
  const double last[] = {0.062, 0.010, 0.010, 0.0, 0.0, 0.001, 0.017};
  for (std::size_t part = 0; part < metrics::rank_part_count; ++part) {
    EXPECT_NEAR(bars.parts_s[part][0], first[part], 1e-12) << part;
    EXPECT_NEAR(bars.parts_s[part][3], last[part], 1e-12) << part;
  }
  EXPECT_EQ(bars.step_s[0], 0.1);

  metrics::RankTimes times = read(file);
  for (metrics::RankStep& step : times.steps)
    if (step.rank == 0 && step.step == 5) {
      step.step_s += 0.24;
      step.compute_s += 0.24;
    }
  const RankBars lifted = rank_bars(times);
  EXPECT_NEAR(lifted.parts_s[0][0], 0.050 + 0.24 / 12, 1e-12) << "the mean of twelve";
  EXPECT_EQ(lifted.step_s[0], 0.1) << "the median";
}

// Two buckets of 3 ms, for which rank 1 is late by 5 ms and 10 ms. Compute hides all of the first collective and none
// of the second: of 13 ms of exposed communication 10 ms are waiting, although the collectives wait for 15 ms.
TEST(RankBars, ExposedWaitsAreThoseOfReportsAndPredictions) {
  const QTemporaryDir folder;
  ddpprof::test::SyntheticRun run(std::filesystem::path(folder.path().toStdString()) / "waits.db");
  const std::int64_t id = run.measurement(ddpprof::test::train("ddp", 2));
  using test::ms;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const std::int64_t shard = run.shard(id, rank);
    for (std::int64_t step = 0; step < 6; ++step) {
      const std::int64_t begin = 7 * ms + step * 50 * ms;
      const std::int64_t row = rank == 0 ? run.step(shard, step, begin, 50 * ms, 30 * ms, 21 * ms, 8 * ms, 15 * ms)
                                         : run.step(shard, step, begin, 50 * ms, 30 * ms, 6 * ms, 3 * ms, 0);
      store::Inserter<store::GradReadyRow>(run.database).insert({row, 0, 30 * ms});
      const std::int64_t early = rank == 0 ? 5 * ms : 0;
      run.collective(shard, row, 2 * step, 0, 1 << 20, begin + 26 * ms - early, begin + 26 * ms - early,
                     begin + 29 * ms, 3 * ms);
      run.collective(shard, row, 2 * step + 1, 1, 1 << 20, begin + 40 * ms - 2 * early, begin + 40 * ms - 2 * early,
                     begin + 43 * ms, 3 * ms);
    }
  }
  const metrics::RankTimes times = metrics::read_ranks(run.database, id);
  const RankBars bars = rank_bars(times);
  const auto part = [&](metrics::RankPart one, std::size_t rank) {
    return bars.parts_s[static_cast<std::size_t>(one)][rank];
  };
  EXPECT_NEAR(part(metrics::RankPart::waiting, 0), 0.010, 1e-12);
  EXPECT_NEAR(part(metrics::RankPart::exposed, 0), 0.003, 1e-12);
  EXPECT_NEAR(part(metrics::RankPart::waiting, 1), 0.0, 1e-12);
  const report::Table ranks = report::ranks_table(times), steps = report::rank_steps_table(times);
  EXPECT_NEAR(std::get<double>(report::cell_of(ranks, ranks.rows[0], "exposed_wait_s")), 0.010, 1e-12);
  EXPECT_NEAR(std::get<double>(report::cell_of(ranks, ranks.rows[0], "skew_median_s")), 0.015, 1e-12) << "all waits";
  EXPECT_NEAR(std::get<double>(report::cell_of(steps, steps.rows[0], "exposed_wait_s")), 0.010, 1e-12);
  const report::Report all = report::build_report(run.database, "phases");
  const report::Table& time = all.tables[0];
  EXPECT_NEAR(std::get<double>(report::cell_of(time, time.rows[0], "exposed_wait_s")), 0.005, 1e-12) << "of two ranks";
  EXPECT_NEAR(fit::load(run.database).ddp.at(2).shares.skew * 0.05, 0.005, 1e-12) << "a step that predict uses";
}

TEST(RankStrip, HoldsEveryRankAndStep) {
  const test::StragglerFile file;
  const RankStrip strip = rank_strip(read(file), StripQuantity::compute, false);
  ASSERT_EQ(strip.ranks.size(), 4U);
  ASSERT_EQ(strip.steps.size(), 12U) << "no warm-up";
  EXPECT_EQ(strip.steps.front(), 1);
  EXPECT_EQ(strip.at(0, 0), 0.060);
  EXPECT_EQ(strip.at(3, 11), 0.072);
  EXPECT_EQ(strip.low, 0.060);
  EXPECT_EQ(strip.high, 0.072);
  EXPECT_EQ(strip.begin_ns[1], 400 * test::ms);
  EXPECT_EQ(strip.end_ns[1], 500 * test::ms);
  EXPECT_EQ(cell_text(strip, 3, 11), "rank 3, step 12 (measured): compute 72 ms");
}

TEST(RankStrip, ARankOfUnknownClockDoesNotMoveTheStepsTime) {
  metrics::RankTimes times;
  for (const std::int64_t rank : {0, 1}) {
    metrics::RankStep step;
    step.rank = rank;
    step.kind = "measured";
    step.begin_ns = rank == 0 ? 100 : 999'000'000;
    step.end_ns = step.begin_ns + 50;
    step.aligned = rank == 0;
    times.steps.push_back(step);
  }
  const RankStrip strip = rank_strip(times, StripQuantity::step, false);
  EXPECT_EQ(strip.begin_ns[0], 100);
  EXPECT_EQ(strip.end_ns[0], 150);
  times.steps[0].aligned = false;
  const RankStrip unknown = rank_strip(times, StripQuantity::step, false);
  EXPECT_GT(unknown.begin_ns[0], unknown.end_ns[0]);
}

TEST(RankStrip, ComparesWithTheStepsMedianRank) {
  const test::StragglerFile file;
  const RankStrip strip = rank_strip(read(file), StripQuantity::against_others, true);
  ASSERT_EQ(strip.steps.size(), 13U) << "the warm-up too";
  EXPECT_EQ(strip.kinds.front(), "warmup");
  EXPECT_NEAR(strip.at(3, 1), 0.2, 1e-12);
  EXPECT_EQ(strip.at(0, 1), 0.0);
  EXPECT_EQ(cell_text(strip, 3, 1), "rank 3, step 1 (measured): compute against the median rank +20 %");
}

TEST(RankStrip, AStepThatARankDidNotRecordIsUnknown) {
  const test::StragglerFile file;
  metrics::RankTimes times = read(file);
  std::erase_if(times.steps, [](const metrics::RankStep& step) { return step.rank == 2 && step.step == 5; });
  const RankStrip strip = rank_strip(times, StripQuantity::step, false);
  EXPECT_TRUE(std::isnan(strip.at(2, 4)));
  EXPECT_EQ(cell_text(strip, 2, 4), "rank 2, step 5 (measured): step not recorded");
  EXPECT_TRUE(rank_strip({}, StripQuantity::step, false).values.empty());
}

TEST(RankSteps, OfOneRankAreItsRowsOfTheWholeTable) {
  const test::StragglerFile file;
  const metrics::RankTimes times = read(file);
  report::Table whole = report::rank_steps_table(times);
  std::erase_if(whole.rows, [](const report::Row& row) { return row[1] != report::Cell(std::int64_t{2}); });
  ASSERT_EQ(whole.rows.size(), 13U);
  EXPECT_EQ(report::rank_steps_table(steps_of(times, 2)).rows, whole.rows);
  EXPECT_TRUE(steps_of(times, 9).steps.empty());
}

TEST(RankTables, PassTheModelTester) {
  const test::StragglerFile file;
  const metrics::RankTimes times = read(file);
  const metrics::RankFindings findings = metrics::find_stragglers(times);
  ReportTableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(report::ranks_table(times));
  EXPECT_EQ(model.rowCount(), 4);
  EXPECT_DOUBLE_EQ(model.index(3, 3).data(ReportTableModel::value_role).toDouble(), 0.072)
      << "the host is constant and left out";
  model.set_table(report::rank_steps_table(times));
  EXPECT_EQ(model.rowCount(), 52);
  model.set_table(report::stragglers_table(times, findings));
  EXPECT_EQ(model.rowCount(), 1);
  model.set_table(report::slow_steps_table(findings));
  EXPECT_EQ(model.rowCount(), 0);
}

// Steps of the given times in ms, all of rank 0, after a warm-up step of 9 s.
metrics::RankTimes steps_of_ms(const std::vector<double>& all) {
  metrics::RankTimes times;
  metrics::RankStep step;
  step.kind = "warmup";
  step.step_s = 9.0;
  times.steps.push_back(step);
  for (const double one : all) {
    step.kind = "measured";
    ++step.step;
    step.step_s = one * 1e-3;
    times.steps.push_back(step);
  }
  return times;
}

TEST(StepHistogram, CountsEveryMeasuredStepOnce) {
  std::vector<double> steps;
  for (int i = 0; i <= 100; ++i) steps.push_back(100.0 + i);
  const StepHistogram histogram = step_histogram(steps_of_ms(steps));
  // Freedman and Diaconis: 2 * 50 ms / 101^(1/3) = 21.5 ms, so five bins of 20 ms.
  ASSERT_EQ(histogram.counts.size(), 5U);
  EXPECT_NEAR(histogram.width_s, 0.020, 1e-12);
  EXPECT_NEAR(histogram.low_s, 0.100, 1e-12);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0}), 101);
  for (const std::int64_t count : histogram.counts) EXPECT_NEAR(static_cast<double>(count), 20.0, 1.5);
  EXPECT_NEAR(histogram.median_s, 0.150, 1e-12);
  EXPECT_NEAR(histogram.p95_s, 0.195, 1e-12);
}

TEST(StepHistogram, OneOutlierDoesNotHideTheOthers) {
  std::vector<double> steps;
  for (int i = 0; i <= 200; ++i) steps.push_back(100.0 + 0.1 * i);
  steps.push_back(5000.0);
  const StepHistogram histogram = step_histogram(steps_of_ms(steps));
  EXPECT_GE(histogram.counts.size(), 5U);
  EXPECT_LT(histogram.width_s * static_cast<double>(histogram.counts.size()), 0.050);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0}), 202);
  EXPECT_GE(histogram.counts.back(), 1);
}

TEST(StepHistogram, EqualStepsAndNoSteps) {
  const StepHistogram equal = step_histogram(steps_of_ms({50.0, 50.0, 50.0}));
  EXPECT_EQ(equal.counts, (std::vector<std::int64_t>{3}));
  EXPECT_LT(equal.low_s, 0.050);
  EXPECT_GT(equal.low_s + equal.width_s, 0.050);
  EXPECT_TRUE(step_histogram(steps_of_ms({})).counts.empty());
}

TEST(StepPercentiles, AreInterpolatedOverTheMeasuredSteps) {
  std::vector<double> steps;
  for (int i = 0; i <= 100; ++i) steps.push_back(100.0 + i);
  metrics::RankTimes times = steps_of_ms(steps);
  const report::Table one = report::step_percentiles_table(times);
  ASSERT_EQ(one.rows.size(), 1U) << "a single rank is all ranks";
  const auto value = [](const report::Table& table, std::size_t row, const char* column) {
    return report::value_of<double>(table, table.rows[row], column).value();
  };
  EXPECT_NEAR(value(one, 0, "p1_s"), 0.101, 1e-12);
  EXPECT_NEAR(value(one, 0, "p50_s"), 0.150, 1e-12);
  EXPECT_NEAR(value(one, 0, "p99_s"), 0.199, 1e-12);
  EXPECT_NEAR(value(one, 0, "fastest_s"), 0.100, 1e-12);
  EXPECT_NEAR(value(one, 0, "slowest_s"), 0.200, 1e-12);
  metrics::RankStep other = times.steps.back();
  other.rank = 1;
  other.step_s = 0.4;
  times.steps.push_back(other);
  const report::Table two = report::step_percentiles_table(times);
  ASSERT_EQ(two.rows.size(), 3U) << "all, rank 0, rank 1";
  EXPECT_NEAR(value(two, 0, "slowest_s"), 0.4, 1e-12);
  EXPECT_NEAR(value(two, 2, "p5_s"), 0.4, 1e-12);
  EXPECT_TRUE(report::step_percentiles_table(steps_of_ms({})).rows.empty());
}

}  // namespace
}  // namespace ddpprof::gui
