// Step tables as users write them: measured steps stay, intervals contain their predictions, mistakes are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analysis/fit/table/doubtful.hpp"
#include "analysis/fit/table/step_table.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::fit {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StepRow row(std::int64_t workers, std::int64_t nodes, std::int64_t batch, double step_s, std::int64_t accumulation = 1) {
  StepRow one{workers, nodes, batch, step_s};
  one.accumulation = accumulation;
  return one;
}

StepRow asked(std::int64_t workers, std::int64_t per_node, std::int64_t batch, std::int64_t accumulation = 1) {
  StepRow one = row(workers, (workers + per_node - 1) / per_node, batch, 0.0, accumulation);
  one.devices_per_node = std::min(workers, per_node);
  return one;
}

void expect_inside(const TablePrediction& prediction) {
  EXPECT_LE(prediction.low_s, prediction.step_s);
  EXPECT_GE(prediction.high_s, prediction.step_s);
}

TEST(UserTables, AnotherAccumulationKeepsThePredictionInItsInterval) {
  const StepTable one({row(1, 1, 16, 0.1), row(2, 1, 16, 0.104), row(4, 1, 16, 0.108), row(8, 1, 16, 0.113)});
  for (const std::int64_t workers : {2, 4, 8, 16}) {
    const TablePrediction prediction = one.predict(asked(workers, 8, 16, 4));
    expect_inside(prediction);
    if (workers == 8) {
      EXPECT_NEAR(prediction.step_s, 4 * 0.1 + 0.013, 1e-9);
    }
  }
  const StepTable four({row(1, 1, 16, 0.4, 4), row(8, 1, 16, 0.43, 4), row(16, 2, 16, 0.47, 4), row(32, 4, 16, 0.49, 4)});
  for (const std::int64_t accumulation : {1, 2, 16}) expect_inside(four.predict(asked(16, 8, 16, accumulation)));
}

// The full node is 6 % slower than two nodes: noise, and no reason to replace what was measured on eight.
TEST(UserTables, MeasuredStepsOfSeveralNodesStay) {
  const StepTable table({row(1, 1, 64, .2), row(4, 1, 64, .205), row(8, 1, 64, .225), row(16, 2, 64, .212),
                         row(32, 4, 64, .213), row(64, 8, 64, .214)});
  for (const auto& [workers, step_s] : {std::pair{16, .212}, {32, .213}, {64, .214}})
    EXPECT_DOUBLE_EQ(table.predict(asked(workers, 8, 64)).step_s, step_s);
  const TablePrediction more = table.predict(asked(128, 8, 64));
  EXPECT_NEAR(more.step_s, .218, .004);
  EXPECT_GE(more.high_s, .225) << "the slow node may be what others are like";
}

TEST(UserTables, ARingFillsANode) {
  const auto ring = [](double n) { return 1.0 + 0.2 * (n - 1.0) / n; };
  const StepTable table({row(1, 1, 16, ring(1)), row(8, 1, 16, ring(8))});
  for (const std::int64_t workers : {2, 4})
    EXPECT_NEAR(table.predict(asked(workers, 8, 16)).step_s / ring(static_cast<double>(workers)), 1.0, 0.01) << workers;
}

// A step between far N is less certain than a repeat of a measured one.
TEST(UserTables, AFarNeighbourWidensTheInterval) {
  const StepTable table({row(2, 2, 64, .1), row(64, 64, 64, .25)});
  const auto width = [&](std::int64_t workers) {
    const TablePrediction prediction = table.predict(asked(workers, 1, 64));
    return prediction.high_s / prediction.low_s;
  };
  EXPECT_GT(width(12), width(4));
  EXPECT_GT(width(12), 1.2);
}

TEST(UserTables, FewerRanksMayBeFarFaster) {
  const StepTable table({row(4, 1, 32, .3585), row(8, 1, 32, .6991), row(16, 2, 32, .6938), row(32, 4, 32, .7488)});
  const TablePrediction one = table.predict(asked(1, 8, 32)), two = table.predict(asked(2, 8, 32));
  EXPECT_LT(one.step_s, two.step_s);
  EXPECT_LT(one.low_s, .2237) << "as measured (DLPerf)";
  EXPECT_GE(one.high_s, .3);
}

TEST(UserTables, OtherNodesThanWereMeasuredAreNamed) {
  const StepTable table({row(1, 1, 64, .25), row(2, 2, 64, .34), row(3, 3, 64, .36), row(4, 4, 64, .37)});
  const TablePrediction full = table.predict(asked(16, 4, 64)), same = table.predict(asked(16, 1, 64));
  EXPECT_THAT(full.note, HasSubstr("nodes with 4 ranks were not measured"));
  EXPECT_GE(full.high_s, 1.2 * same.high_s);
}

TEST(UserTables, OneNodeTakesAtMostTheStepOfSeveral) {
  const StepTable table({row(1, 1, 32, .1), row(8, 1, 32, .105), row(16, 2, 32, .2), row(32, 4, 32, .205)});
  EXPECT_GE(table.predict(asked(32, 32, 32)).high_s, table.predict(asked(16, 32, 32)).high_s);
  EXPECT_THAT(table.predict(asked(16, 4, 32)).note, AllOf(HasSubstr("nodes with 4 ranks"), HasSubstr("two nodes")));
}

// Steps that become shorter as N grows show how much the measurements differ.
TEST(UserTables, FallingStepsWidenTheInterval) {
  stats::Random random(3);
  int covered = 0;
  constexpr int tables = 40;
  for (int i = 0; i < tables; ++i) {
    std::vector<StepRow> rows;
    const auto measured = [&](int doublings) { return 0.1 * std::exp(0.02 * doublings + 0.08 * random.normal()); };
    for (int doublings = 0; doublings < 6; ++doublings) {
      const std::int64_t workers = std::int64_t{1} << doublings;
      rows.push_back(row(workers, (workers + 7) / 8, 32, measured(doublings)));
    }
    const TablePrediction prediction = StepTable(rows).predict(asked(64, 8, 32));
    const double next = measured(6);
    covered += prediction.low_s <= next && next <= prediction.high_s;
  }
  EXPECT_GE(covered, tables * 3 / 4) << covered;
}

TEST(UserTables, OneSlowFirstStepDoesNotBlurATable) {
  std::vector<StepRow> rows;
  for (const auto& [workers, step_s] : {std::pair{1, .1}, {4, .104}, {8, .107}})
    for (const double factor : {2.5, 1.0, 1.01, 0.99}) rows.push_back(row(workers, 1, 32, factor * step_s));
  const StepTable table(rows);
  const TablePrediction prediction = table.predict(asked(8, 8, 32));
  EXPECT_LT(prediction.high_s / prediction.low_s, 1.2);
  EXPECT_THAT(table.warnings(), ElementsAre(HasSubstr("differ from")));
}

// About linear at two batches, on up to 8 nodes: what was measured stays in a narrow interval.
TEST(UserTables, ASecondBatchDoesNotHideWhatWasMeasured) {
  std::vector<StepRow> rows;
  const double steps[][2] = {{.0900, .1700}, {.0911, .1720}, {.0922, .1741}, {.0932, .1761},
                             {.0943, .1782}, {.0954, .1802}, {.0965, .1822}};
  for (std::int64_t i = 0; i < 7; ++i)
    for (const int batch : {0, 1}) rows.push_back(row(1 << i, std::max(1, (1 << i) / 8), batch == 0 ? 32 : 64, steps[i][batch]));
  const StepTable table(rows);
  for (const std::int64_t workers : {8, 64}) {
    const TablePrediction prediction = table.predict(asked(workers, 8, 32));
    expect_inside(prediction);
    EXPECT_LT(prediction.high_s / prediction.low_s, 1.35) << workers;
  }
}

TEST(UserTables, MistakesAreNamed) {
  const auto doubts = [](std::vector<StepRow> rows) { return table_doubts(rows); };
  EXPECT_THAT(doubts({row(8, 1, 32, 105), row(16, 2, 32, .107), row(32, 4, 32, .109)}),
              ElementsAre(AllOf(HasSubstr("the throughput of N = 8"), HasSubstr("cannot be"))));
  EXPECT_THAT(doubts({row(1, 1, 32, .1), row(2, 1, 32, .102), row(4, 1, 32, 104)}),
              ElementsAre(HasSubstr("another unit")));
  EXPECT_THAT(doubts({row(8, 1, 32, .1), row(16, 2, 32, .103), row(32, 4, 32, .106), row(64, 8, 32, 1.1)}),
              ElementsAre(HasSubstr("another unit")));
  EXPECT_THAT(doubts({row(8, 1, 256, .8), row(16, 2, 256, .41), row(32, 4, 256, .215)}),
              ElementsAre(HasSubstr("is batch_per_worker of one rank")));
  EXPECT_THAT(doubts({row(1, 1, 16, .83, 8), row(2, 1, 16, .33, 4), row(4, 1, 16, .15, 2), row(8, 1, 16, .07, 1)}),
              ElementsAre(HasSubstr("the throughput of one worker")));
  EXPECT_THAT(doubts({row(1, 1, 32, 360), row(2, 1, 32, 712), row(4, 1, 32, 1400), row(8, 1, 32, 2740)}),
              ElementsAre(HasSubstr("samples per second")));
  EXPECT_THAT(doubts({row(1, 1, 32, .103), row(2, 1, 32, .1), row(4, 1, 32, .101)}),
              ElementsAre(HasSubstr("only noise explains")));
}

TEST(UserTables, OrdinaryTablesHaveNoDoubt) {
  EXPECT_THAT(table_doubts({row(1, 1, 32, .1), row(8, 1, 32, .12), row(16, 2, 32, .4), row(64, 8, 32, .5)}), IsEmpty());
  EXPECT_THAT(table_doubts({row(1, 1, 32, .2), row(2, 2, 32, .5), row(3, 3, 32, .3), row(4, 1, 32, .21)}), IsEmpty());
  EXPECT_THAT(table_doubts({row(1, 1, 16, .11), row(8, 1, 16, .82, 8)}), IsEmpty()) << "fewer updates per micro-batch";
}

}  // namespace
}  // namespace ddpprof::fit
