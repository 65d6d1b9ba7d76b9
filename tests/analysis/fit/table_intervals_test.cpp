// Step tables with few placements: intervals of placements and accumulations that were not measured, from made laws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/fit/table/step_table.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::fit {
namespace {

StepRow placed(std::int64_t workers, std::int64_t per_node, double step_s = 0.0, std::int64_t accumulation = 1) {
  StepRow row{workers, (workers + per_node - 1) / per_node, 32, step_s};
  row.devices_per_node = std::min(workers, per_node);
  row.accumulation = accumulation;
  return row;
}

void expect_contains(const TablePrediction& prediction, double truth_s) {
  EXPECT_LE(prediction.low_s, truth_s);
  EXPECT_GE(prediction.high_s, truth_s);
}

// The ring over n nodes of d ranks: what a node sends is limited by its link, which its ranks share or not.
double loss_s(double nodes) { return 0.3 * (nodes - 1.0) / nodes; }

// 16 ranks on two nodes and 32 on four were measured. 16 ranks on four nodes lose as much as the one or the other.
TEST(TableIntervals, MoreNodesAtTheSameNMayLoseWhatAsManyNodesLose) {
  const StepTable table({placed(1, 8, 0.6), placed(8, 8, 0.6), placed(16, 8, 0.62), placed(32, 8, 0.8)});
  const TablePrediction dense = table.predict(placed(16, 8)), sparse = table.predict(placed(16, 4));
  expect_contains(sparse, 0.62);
  expect_contains(sparse, 0.8);
  EXPECT_LT(dense.high_s, 0.7) << "the measured placement stays";
  EXPECT_GT(table.predict(placed(32, 4)).high_s, table.predict(placed(32, 8)).high_s) << "eight nodes instead of four";
}

TEST(TableIntervals, FewerNodesAtTheSameNMayLoseWhatAsManyNodesLose) {
  const auto law = [](double nodes) { return 0.3 + 2.0 * loss_s(nodes); };
  const StepTable table({placed(1, 2, 0.3), placed(4, 2, law(2)), placed(8, 2, law(4)), placed(16, 2, law(8))});
  const TablePrediction two = table.predict(placed(16, 8));
  expect_contains(two, law(2));
  expect_contains(two, law(8));
  EXPECT_GT(table.predict(placed(16, 2)).low_s, law(4)) << "the measured placement stays";
}

// Two ranks of a node slow each other by 60 ms. Nodes with one rank do not have this.
TEST(TableIntervals, RanksThatDoNotShareANodeDoNotSlowEachOther) {
  const auto law = [](std::int64_t per_node, double nodes) {
    return 0.35 + (per_node > 1 ? 0.06 : 0.0) + 0.02 * (nodes - 1.0) / nodes;
  };
  const StepTable table({placed(1, 2, law(1, 1)), placed(2, 2, law(2, 1)), placed(4, 2, law(2, 2)),
                         placed(6, 2, law(2, 3)), placed(8, 2, law(2, 4))});
  for (const std::int64_t nodes : {3, 4})
    expect_contains(table.predict(placed(nodes, 1)), law(1, static_cast<double>(nodes)));
  const TablePrediction measured = table.predict(placed(8, 2));
  EXPECT_LT(measured.high_s / measured.low_s, 1.1);
}

// A third of a second of communication is hidden. On two nodes it takes 480 ms. On more it takes 360 ms, or what is
// lost grows as the bytes of a ring.
TEST(TableIntervals, TwoNodesMayBeSlowAsSuch) {
  const auto step_s = [](double communication_s) { return 0.5 + std::max(0.0, communication_s - 1.0 / 3.0); };
  std::vector<StepRow> rows = {placed(1, 8, 0.5), placed(4, 8, 0.5), placed(8, 8, 0.5), placed(16, 8, step_s(0.48))};
  const StepTable two(rows);
  for (const std::int64_t workers : {24, 32, 64}) {
    const TablePrediction prediction = two.predict(placed(workers, 8));
    expect_contains(prediction, step_s(0.36));
    expect_contains(prediction, 0.5 + 2.0 * (1.0 - 8.0 / static_cast<double>(workers)) * (step_s(0.48) - 0.5));
    EXPECT_THAT(prediction.note, testing::HasSubstr("three nodes would narrow the interval most"));
  }
  rows.push_back(placed(24, 8, step_s(0.36)));
  const TablePrediction three = StepTable(rows).predict(placed(32, 8));
  EXPECT_THAT(three.note, testing::Not(testing::HasSubstr("three nodes")));
  EXPECT_LT(three.high_s / three.low_s, 1.3);
}

// 64 to 8 micro-batches of 61.6 ms, and 57 ms a step that are lost once.
TEST(TableIntervals, AFallingAccumulationBoundsWhatIsLostOnceAStep) {
  const auto law = [](std::int64_t accumulation) { return 0.0616 * static_cast<double>(accumulation) + 0.057; };
  std::vector<StepRow> rows;
  for (std::int64_t n = 8; n <= 64; n *= 2) rows.push_back(placed(n, 8, law(512 / n), 512 / n));
  const StepTable table(rows);
  for (const std::int64_t n : {128, 256, 512}) {
    const TablePrediction prediction = table.predict(placed(n, 8, 0.0, 512 / n));
    expect_contains(prediction, law(512 / n));
    EXPECT_LT(prediction.high_s, 1.7 * law(512 / n)) << n;
  }
}

// Without a row of one rank, the efficiency is relative to the fewest ranks, and fewer have no more.
TEST(TableIntervals, FewerRanksThanWereMeasuredAreNotMoreThanEfficient) {
  const StepTable table({placed(8, 8, 0.35), placed(16, 8, 0.36), placed(32, 8, 0.37)});
  for (const std::int64_t workers : {1, 2, 4, 8}) {
    const TablePrediction prediction = table.predict(placed(workers, 8));
    EXPECT_DOUBLE_EQ(prediction.alone_s, prediction.step_s) << workers;
    EXPECT_DOUBLE_EQ(prediction.compute_s, prediction.step_s) << workers;
  }
}

// Errors of 4 % on four rows, of which one is on two nodes. A fall from it showed no noise, and 70 % were covered.
TEST(TableIntervals, FallsFromTwoNodesShowNoise) {
  stats::Random random(11);
  int covered = 0, asked = 0;
  for (int i = 0; i < 200; ++i) {
    const auto measured = [&](std::int64_t n) {
      return 0.2 * std::exp(0.005 * std::log2(static_cast<double>(n)) + 0.04 * random.normal());
    };
    std::vector<StepRow> rows;
    for (const std::int64_t n : {8, 16, 32, 64}) rows.push_back(placed(n, 8, measured(n)));
    const StepTable table(rows);
    for (const std::int64_t n : {64, 128}) {
      const TablePrediction prediction = table.predict(placed(n, 8));
      const double next_s = measured(n);
      covered += prediction.low_s <= next_s && next_s <= prediction.high_s;
      ++asked;
    }
  }
  EXPECT_GE(covered, asked * 80 / 100) << covered << " of " << asked;
}

}  // namespace
}  // namespace ddpprof::fit
