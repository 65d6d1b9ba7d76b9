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

}  // namespace
}  // namespace ddpprof::fit
