// Step tables as users write them: measured steps stay, intervals contain their predictions, mistakes are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
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
using testing::Not;

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

// What 8 ranks lose may occur once a step, or in each micro-batch.
TEST(UserTables, TheIntervalOfAnotherAccumulationContainsBothKindsOfLoss) {
  const auto expect_both = [](const StepTable& table, std::int64_t accumulation, double once_s, double each_s) {
    const TablePrediction prediction = table.predict(asked(8, 8, 32, accumulation));
    EXPECT_LE(prediction.low_s, std::min(once_s, each_s));
    EXPECT_GE(prediction.high_s, std::max(once_s, each_s));
  };
  const StepTable four({row(1, 1, 32, 1.2, 4), row(8, 1, 32, 1.272, 4), row(16, 2, 32, 1.273, 4)});
  expect_both(four, 1, 0.3 + 0.072, 0.318);
  expect_both(four, 8, 2.4 + 0.072, 8 * 0.318);
  const StepTable one({row(1, 1, 32, 0.3), row(8, 1, 32, 0.318), row(16, 2, 32, 0.3183)});
  expect_both(one, 4, 1.2 + 0.018, 4 * 0.318);
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

// Several nodes bound the interval of one node. The table has one batch, so no note blames the batch.
TEST(UserTables, OneBatchIsNotNamedAsUnmeasured) {
  const StepTable table({row(1, 1, 64, .18), row(16, 2, 64, .21), row(32, 4, 64, .23)});
  EXPECT_THAT(table.predict(asked(4, 16, 64)).note,
              AllOf(Not(HasSubstr("batch")), HasSubstr("no more than N = 1 was measured on one node")));
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

// No noise makes a step 14 times as long: some rows are wrong, and it is not known which.
TEST(UserTables, RowsThatContradictEachOtherAreAllInTheInterval) {
  const std::vector<std::vector<StepRow>> tables = {
      {row(1, 1, 8, .7), row(8, 1, 8, .05)},
      {row(1, 1, 8, .7), row(1, 1, 8, .05), row(8, 1, 8, .7), row(8, 1, 8, .05)},
      {row(1, 1, 8, .05), row(2, 1, 8, .7), row(4, 1, 8, .05), row(8, 1, 8, .7)}};
  for (const std::vector<StepRow>& rows : tables)
    for (const std::int64_t workers : {8, 16}) {
      const TablePrediction prediction = StepTable(rows).predict(asked(workers, 16, 8));
      expect_inside(prediction);
      EXPECT_LE(prediction.low_s, .05);
      EXPECT_GE(prediction.high_s, .7);
      EXPECT_GT(prediction.low_s, .05 / 3.0);
      EXPECT_LT(prediction.high_s, .7 * 4.0);
      EXPECT_THAT(prediction.note, HasSubstr("the interval contains all of them"));
    }
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

// Step times by a known law, N doubled from 1 to `most`, nodes of 8.
template <class Law>
std::vector<StepRow> weak_scaling(std::int64_t most, Law law) {
  std::vector<StepRow> rows;
  for (std::int64_t n = 1; n <= most; n *= 2) rows.push_back(row(n, (n + 7) / 8, 32, law(static_cast<double>(n))));
  return rows;
}

void expect_covers(const TablePrediction& prediction, double truth_s) {
  EXPECT_LE(prediction.low_s, truth_s);
  EXPECT_GE(prediction.high_s, truth_s);
}

TEST(UserTables, TheIntervalContainsThatNothingMoreIsLost) {
  const StepTable linear(weak_scaling(64, [](double) { return 0.2; }));
  for (const std::int64_t workers : {128, 256, 4096}) expect_covers(linear.predict(asked(workers, 8, 32)), 0.2);
  // A ring over slow links between nodes, whose bytes hardly grow any more.
  const auto ring = [](double n) { return n <= 8.0 ? 0.1 : 0.1 + 0.4 * (n - 8.0) / n; };
  const StepTable saturated(weak_scaling(64, ring));
  for (const std::int64_t workers : {128, 256, 512})
    expect_covers(saturated.predict(asked(workers, 8, 32)), ring(static_cast<double>(workers)));
  const StepTable from_eight({row(8, 1, 32, 0.3), row(16, 2, 32, 0.32)});
  expect_covers(from_eight.predict(asked(1, 8, 32)), 0.3);
}

TEST(UserTables, AJumpOfTheLastStepMayGoOn) {
  const auto law = [](double n) { return std::max(0.2, 0.05 + 0.02 * std::log2(n) + 0.0005 * n); };
  const StepTable knee(weak_scaling(128, law));
  for (const std::int64_t workers : {256, 512, 1024}) {
    const TablePrediction prediction = knee.predict(asked(workers, 8, 32));
    expect_covers(prediction, law(static_cast<double>(workers)));
    EXPECT_THAT(prediction.note, HasSubstr("from N = 64 to N = 128 the step grows by"));
  }
  EXPECT_THAT(StepTable(weak_scaling(64, law)).predict(asked(128, 8, 32)).note, Not(HasSubstr("the step grows by")));
}

// The ring over four nodes moves 1.5 times the bytes of one over two.
TEST(UserTables, TwoNodesMayLoseLessThanMore) {
  const auto law = [](double nodes) { return 0.1 + 0.4 * (nodes - 1.0) / nodes; };
  const StepTable table({row(1, 1, 32, .1), row(2, 1, 32, .102), row(4, 1, 32, .102), row(8, 1, 32, .102),
                         row(16, 2, 32, law(2))});
  for (const std::int64_t workers : {32, 64}) expect_covers(table.predict(asked(workers, 8, 32)), law(static_cast<double>(workers) / 8.0));
}

// Bytes do not become fewer with the batch: 1 ms for each of 1024 samples, and 150 ms for links that were not measured.
TEST(UserTables, StrongScalingAcrossNodesContainsUnknownLinks) {
  std::vector<StepRow> rows;
  for (const std::int64_t n : {1, 2, 4, 8})
    rows.push_back(row(n, 1, 1024 / n, 1.024 / static_cast<double>(n) + 0.01 * (1.0 - 1.0 / static_cast<double>(n))));
  const StepTable table(rows);
  for (const std::int64_t n : {16, 32, 64}) {
    const TablePrediction prediction = table.predict(asked(n, 8, 1024 / n));
    expect_covers(prediction, 1.024 / static_cast<double>(n) + 0.15);
    EXPECT_THAT(prediction.note, HasSubstr("links between nodes were not measured"));
  }
}

TEST(UserTables, ARowOfOneRankIsNotOfAFullNode) {
  const StepTable table({row(1, 1, 4, .3), row(1024, 128, 4, .45)});
  EXPECT_THAT(table.predict(asked(16, 8, 4)).note, Not(HasSubstr("but nodes with 1")));
}

TEST(UserTables, AnAccumulationThatWasNotMeasuredIsNamed) {
  const StepTable eight({row(8, 1, 32, .88, 8), row(16, 2, 32, .88, 8), row(32, 4, 32, .88, 8)});
  EXPECT_THAT(eight.predict(asked(32, 8, 32, 1)).note, HasSubstr("1 micro-batches per step were not measured"));
  EXPECT_THAT(eight.predict(asked(64, 8, 32, 8)).note, Not(HasSubstr("micro-batches")));
}

// Waiting that was measured is exposed communication, with and without rows of one rank.
TEST(UserTables, MeasuredWaitingIsExposed) {
  std::vector<StepRow> rows = {row(8, 1, 32, .12), row(16, 2, 32, .2), row(32, 4, 32, .22)};
  rows[0].sync_s = .03, rows[1].sync_s = .11, rows[2].sync_s = .13;
  const StepTable table(rows);
  for (const StepRow& one : rows) {
    const TablePrediction prediction = table.predict(asked(one.workers, 8, 32));
    EXPECT_NEAR(prediction.exposed_s, one.sync_s, 1e-9) << one.workers;
    EXPECT_NEAR(prediction.compute_s, .09, 1e-9) << one.workers;
  }
  std::vector<StepRow> alone = {row(1, 1, 32, .1), row(2, 2, 32, .12), row(8, 8, 32, .2)};
  alone[0].sync_s = 0.0, alone[1].sync_s = .005, alone[2].sync_s = .02;
  EXPECT_EQ(StepTable(alone).predict(asked(8, 1, 32)).sharing_s, 0.0) << "one device on each node";
}

TEST(UserTables, AMeasuredBatchHasNoUncertaintyOfTheBatch) {
  std::vector<StepRow> rows;
  for (const std::int64_t global : {512, 1024})
    for (const std::int64_t n : {1, 2, 4, 8, 16})
      rows.push_back(row(n, (n + 7) / 8, global / n, 0.001 * static_cast<double>(global / n) + (n > 1 ? 0.01 : 0.0)));
  const StepTable table(rows);
  for (const std::int64_t n : {8, 16}) {
    const TablePrediction prediction = table.predict(asked(n, 8, 64));
    EXPECT_LT(prediction.high_s / prediction.low_s, 1.3) << n;
  }
}

TEST(UserTables, OneRankTakesAtMostTheStepOfTwo) {
  const StepTable table({row(1, 1, 32, .106), row(2, 1, 64, .222), row(4, 1, 64, .222), row(8, 1, 64, .222),
                         row(16, 2, 64, .242), row(32, 4, 64, .242)});
  EXPECT_LE(table.predict(asked(1, 8, 64)).step_s, .222);
}

// Steps of a physical model without noise: compute, `exposed_s` of several nodes, batches of 8, 16 and 32.
std::vector<StepRow> placements(double fixed_s, double sample_s, double (*exposed_s)(double nodes)) {
  std::vector<StepRow> rows;
  for (const auto& [workers, nodes] : {std::pair{1, 1}, {8, 1}, {16, 2}, {24, 3}, {32, 4}, {48, 6}})
    for (const int batch : {8, 16, 32}) {
      const double compute_s = fixed_s + sample_s * batch, hidden_s = compute_s * 2.0 / 3.0;
      rows.push_back(row(workers, nodes, batch,
                         compute_s + (nodes > 1 ? std::max(0.0, exposed_s(nodes) - hidden_s) : 0.0)));
    }
  return rows;
}

// A cluster that is far faster than those whose growth is known, and links whose time does not grow.
TEST(UserTables, RowsOfManyNodesShowHowCommunicationGrows) {
  const auto fast = [](double n) { return 0.0003 + 0.002 * (n - 1.0) / n + 4e-5 * std::log2(n); };
  const StepTable fast_table(placements(0.001, 5e-5, fast));
  const auto constant = [](double) { return 0.08; };
  const StepTable constant_table(placements(0.05, 0.004, constant));
  for (const std::int64_t workers : {64, 256}) {
    const double nodes = static_cast<double>(workers) / 8.0;
    const TablePrediction prediction = fast_table.predict(asked(workers, 8, 8));
    const double truth_s = 0.0014 + fast(nodes) - 0.0014 * 2.0 / 3.0;
    expect_covers(prediction, truth_s);
    EXPECT_NEAR(prediction.step_s / truth_s, 1.0, workers == 64 ? 0.15 : 0.7);
    EXPECT_THAT(prediction.note, HasSubstr("far from the models from which its growth was learned"));
    const TablePrediction flat = constant_table.predict(asked(workers, 8, 8));
    expect_covers(flat, 0.082 + 0.08 - 0.082 * 2.0 / 3.0);
    EXPECT_NEAR(flat.step_s / 0.1073, 1.0, workers == 64 ? 0.15 : 0.6);
  }
}

TEST(UserTables, AStepIsNotShorterThanItsCompute) {
  const StepTable table(placements(0.05, 0.004, [](double) { return 0.0; }));
  for (const std::int64_t workers : {256, 1024})
    EXPECT_GE(table.predict(asked(workers, 8, 8)).low_s, 0.9 * 0.082) << workers;
}

// An uplink that is congested from eight nodes on.
TEST(UserTables, RowsThatTheModelDoesNotDescribeAreNamed) {
  std::vector<StepRow> rows;
  for (const auto& [workers, nodes] : {std::pair{1, 1}, {4, 1}, {8, 2}, {12, 3}, {16, 4}, {32, 8}})
    for (const int batch : {8, 32})
      rows.push_back(row(workers, nodes, batch, 0.05 + 0.004 * batch + (nodes == 1 ? 0.0 : nodes < 8 ? 0.05 : 0.4)));
  const StepTable table(rows);
  EXPECT_THAT(table.warnings(), ElementsAre(HasSubstr("the fitted model does not describe a row")));
  for (const StepRow& one : rows)
    if (one.workers > 1) expect_covers(table.predict(one), one.step_s);
}

TEST(UserTables, OneNodeTakesAtMostTheStepOfMeasuredNodes) {
  std::vector<StepRow> rows;
  for (const auto& [workers, nodes] : {std::pair{8, 2}, {12, 3}, {16, 4}, {32, 8}})
    for (const int batch : {8, 32})
      rows.push_back(row(workers, nodes, batch, 0.05 + 0.004 * batch + 0.08 * (nodes - 1.0) / nodes));
  EXPECT_LE(StepTable(rows).predict(asked(4, 4, 8)).high_s, 1.1 * rows.front().step_s);
}

// A global batch of 1024 samples of 1 ms, and communication in proportion to N: throughput stops to grow.
TEST(UserTables, StrongScalingThatHasStoppedMayTakeLonger) {
  const auto law = [](std::int64_t n) { return 1.024 / static_cast<double>(n) + 0.0005 * static_cast<double>(n); };
  std::vector<StepRow> rows;
  for (std::int64_t n = 1; n <= 64; n *= 2) rows.push_back(row(n, (n + 7) / 8, 1024 / n, law(n)));
  const StepTable table(rows);
  for (const std::int64_t n : {128, 256}) expect_covers(table.predict(asked(n, 8, 1024 / n)), law(n));
  const TablePrediction measured = table.predict(asked(16, 8, 64));
  EXPECT_LE(measured.alone_s, measured.step_s);
  EXPECT_THAT(measured.note, HasSubstr("a line in the batch"));
}

// A global batch of 4096 samples of 0.75 ms. Communication between nodes takes 45 ms · 4/3 · (n - 1)/n; half of a rank's
// compute hides it up to N = 32. Beyond, half of the compute is less.
TEST(UserTables, ASmallerBatchExposesWhatALargerOneHid) {
  const auto law = [](std::int64_t n) {
    const double compute_s = 3.072 / static_cast<double>(n), nodes = static_cast<double>((n + 7) / 8);
    return compute_s + std::max(0.0, 0.06 * (nodes - 1.0) / nodes - 0.5 * compute_s);
  };
  std::vector<StepRow> rows;
  for (const std::int64_t n : {1, 8, 16, 32}) rows.push_back(row(n, (n + 7) / 8, 4096 / n, law(n)));
  EXPECT_NEAR(rows.back().step_s, 3.072 / 32.0, 1e-9) << "nothing is exposed";
  const StepTable table(rows);
  for (const std::int64_t n : {64, 128, 256}) expect_covers(table.predict(asked(n, 8, 4096 / n)), law(n));
  const TablePrediction between = table.predict(asked(24, 8, 171));
  EXPECT_LT(between.high_s / between.low_s, 1.7) << "N = 32 hides its communication with less compute";
}

// Throughput that stays constant may be limited by links, by storage or by power.
TEST(UserTables, StepTimesAloneDoNotNameTheSharedResource) {
  std::vector<StepRow> rows = weak_scaling(64, [](double n) { return 0.1 * n; });
  EXPECT_EQ(StepTable(rows).predict(asked(64, 8, 32)).bound, shared_bound);
  for (StepRow& one : rows) one.sync_s = one.workers == 1 ? 0.0 : 0.9 * one.step_s;
  EXPECT_EQ(StepTable(rows).predict(asked(64, 8, 32)).bound, "communication") << "the waiting was measured";
}

// Of a global batch of 1024 samples of 1 ms, N ranks compute 1.024 s / N each; the rest of a step is lost.
TEST(UserTables, PartsOfStrongScaling) {
  const auto law = [](std::int64_t n) { return 1.024 / static_cast<double>(n) + (n > 1 ? 0.02 : 0.0); };
  std::vector<StepRow> rows;
  for (std::int64_t n = 1; n <= 64; n *= 2) rows.push_back(row(n, (n + 7) / 8, 1024 / n, law(n)));
  const StepTable table(rows);
  for (const std::int64_t n : {1, 2, 8, 64}) {
    const TablePrediction prediction = table.predict(asked(n, 8, 1024 / n));
    EXPECT_NEAR(prediction.compute_s, 1.024 / static_cast<double>(n), 1e-9) << n;
    EXPECT_NEAR(prediction.exposed_s, n > 1 ? 0.02 : 0.0, 1e-9) << n;
    EXPECT_NEAR(prediction.alone_s / prediction.step_s, law(1) / (static_cast<double>(n) * law(n)), 1e-9)
        << "the strong efficiency";
  }
  const TablePrediction further = table.predict(asked(128, 8, 8));
  EXPECT_NEAR(further.compute_s + further.skew_s + further.sharing_s + further.exposed_s, further.step_s, 1e-9);
  EXPECT_EQ(further.bound, shared_bound);
}

// Communication between nodes that hardly grows with N is at the least growth that the model allows.
TEST(UserTables, LinksWhoseTimeDoesNotGrowAreFitted) {
  std::vector<StepRow> rows;
  const auto add = [&](std::int64_t workers, std::int64_t nodes, const std::vector<double>& steps_s) {
    for (std::size_t i = 0; i < steps_s.size(); ++i) rows.push_back(row(workers, nodes, 8 << i, steps_s[i]));
  };
  add(1, 1, {.13185, .19492, .32492});
  add(2, 1, {.13173, .19515, .32711});
  add(8, 1, {.13192, .19614, .32457});
  add(2, 2, {.27057, .29367, .34520});
  add(16, 2, {.27783, .30055, .34053});
  add(3, 3, {.34498, .37177, .42308});
  add(32, 4, {.38960, .41756, .45588});
  add(4, 4, {.39397, .41801, .44866});
  const StepTable table(rows);
  EXPECT_NE(table.placement_model(), nullptr);
  EXPECT_THAT(table.warnings(), IsEmpty());
  for (const StepRow& one : rows)
    if (one.nodes > 1) {
      const TablePrediction prediction = table.predict(one);
      expect_covers(prediction, one.step_s);
      EXPECT_NEAR(prediction.step_s / one.step_s, 1.0, 0.12) << one.workers << " on " << one.nodes;
    }
}

// With several batches of two nodes alone, a cluster on which two nodes are not special stays in the interval.
TEST(UserTables, MoreNodesThanTwoMayTakeAsLong) {
  const auto law = [](std::int64_t nodes, int batch) { return 0.004 * batch + 0.02 + (nodes == 1 ? 0.0 : 0.1); };
  std::vector<StepRow> rows;
  for (const auto& [workers, nodes] : {std::pair{1, 1}, {8, 1}, {4, 2}, {8, 2}, {16, 2}})
    for (const int batch : {8, 16}) rows.push_back(row(workers, nodes, batch, law(nodes, batch)));
  const TablePrediction four = StepTable(rows).predict(asked(32, 8, 8));
  EXPECT_GE(four.high_s, law(2, 8)) << "as on two nodes";
  EXPECT_THAT(four.note, HasSubstr("more nodes took less time"));
}

// 4,000 rows have eight million pairs.
TEST(UserTables, ALongTableIsJudgedInOnePass) {
  std::vector<StepRow> rows;
  for (std::int64_t n = 1; n <= 4000; ++n) rows.push_back(row(n, (n + 7) / 8, 32, 0.1 + 1e-6 * static_cast<double>(n)));
  EXPECT_THAT(table_doubts(rows), IsEmpty());
  rows.back().step_s = 100.0;
  EXPECT_THAT(table_doubts(rows), ElementsAre(HasSubstr("a step of N = 3999 takes")));
}

// 20,000 rows have 200 million pairs. An import predicts all of them.
TEST(UserTables, AllStepsOfALongTableArePredicted) {
  std::vector<StepRow> rows;
  for (std::int64_t n = 1; n <= 20000; ++n)
    rows.push_back(row(n, (n + 7) / 8, 32, 0.1 + 1e-7 * static_cast<double>(n) + (n % 2 == 0 ? 1e-4 : 0.0)));
  const auto begin = std::chrono::steady_clock::now();
  const StepTable table(rows);
  for (const StepRow& one : rows) EXPECT_EQ(table.predict(asked(one.workers, 8, 32)).step_s, one.step_s);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << "of optimised code about one second";
}

// Of many pairs the most doubtful one is named, also if shorter steps are on nodes that are less full.
TEST(UserTables, TheMostDoubtfulPairOfALongTableIsNamed) {
  std::vector<StepRow> rows;
  for (std::int64_t n = 2; n <= 400; ++n) rows.push_back(row(n, (n + 7) / 8, 32, 0.1));
  rows.push_back(row(500, 500, 32, 0.01));
  rows[100].step_s = 0.3;
  rows[300].step_s = 0.06;
  EXPECT_THAT(table_doubts(rows), ElementsAre(HasSubstr("N = 302 has")));
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
  EXPECT_THAT(doubts({row(1, 1, 32, 320), row(2, 1, 32, 563), row(4, 1, 32, 991), row(8, 1, 32, 1745)}),
              ElementsAre(HasSubstr("samples per second")));
  EXPECT_THAT(doubts({row(8, 1, 32, 450), row(16, 2, 32, 230)}), ElementsAre(HasSubstr("step_time_s of one step")));
  EXPECT_THAT(doubts({row(8, 1, 32, .2), row(16, 2, 32, .15), row(32, 4, 32, .11)}), ElementsAre(HasSubstr("cannot be")));
  EXPECT_THAT(doubts({row(1, 1, 32, .2), row(2, 1, 64, .202), row(4, 1, 128, .204), row(8, 1, 256, .206)}),
              ElementsAre(HasSubstr("it must be the batch of one worker")));
  EXPECT_THAT(doubts({row(1, 1, 32, .2), row(1, 1, 64, .15), row(8, 1, 32, .22), row(8, 1, 64, .23)}),
              ElementsAre(HasSubstr("with a larger batch of 64")));
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
