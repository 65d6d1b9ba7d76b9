// The sentences and figures about both strategies: figures equal the predictions, sentences follow from the figures.
#include "gui/models/strategies/strategies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <set>
#include <stdexcept>

#include "gui/models/report_table_model.hpp"
#include "gui/models/strategies/strategy_tables.hpp"
#include "tests/gui/strategies/measured_file.hpp"

namespace ddpprof::gui {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Strategies strategies_of(const std::filesystem::path& path) { return Strategies(open_file(path)); }

TEST(Strategies, EqualTheFiguresOfTheCommandLine) {
  const test::MeasuredFile file("figures", {1, 2, 4}, {1, 2, 4});
  const Strategies strategies = strategies_of(file.path());
  EXPECT_EQ(strategies.measured_workers(), (std::vector<std::int64_t>{1, 2, 4}));
  store::Database database = store::Database::open_read(file.path());
  fit::PredictOptions options = strategies.file().predict;
  options.workers = {1, 2, 4, 8, 64};
  const fit::PredictResult printed = fit::predict_all(database, options);
  ASSERT_EQ(printed.predictions.size(), 10U);
  for (const store::PredictionRow& row : printed.predictions) {
    const Comparison all = strategies.compare(row.world_size, Source::measured);
    const Side& side = row.strategy == "dp" ? all.dp : all.ddp;
    ASSERT_TRUE(side.row) << side.why_not;
    EXPECT_EQ(side.measured, row.world_size <= 4);
    EXPECT_EQ(side.row->step_s, row.step_s);
    EXPECT_EQ(side.row->step_low_s, row.step_low_s);
    EXPECT_EQ(side.row->step_high_s, row.step_high_s);
    EXPECT_EQ(side.row->compute_s, row.compute_s);
    EXPECT_EQ(side.row->exposed_s, row.exposed_s);
    EXPECT_EQ(side.row->skew_s, row.skew_s);
    EXPECT_EQ(side.row->throughput, row.throughput);
    EXPECT_EQ(side.row->efficiency, row.efficiency);
    EXPECT_EQ(side.row->bound, row.bound);
  }
}

TEST(Strategies, ShowAMeasuredStepOrItsSimulation) {
  const test::MeasuredFile file("source", {1, 2, 4}, {1, 2});
  const Strategies strategies = strategies_of(file.path());
  const Comparison measured = strategies.compare(4, Source::measured, 2);
  ASSERT_TRUE(measured.ddp.lanes);
  EXPECT_FALSE(measured.ddp.lanes->simulated);
  EXPECT_EQ(measured.ddp.lanes->rank, 2);
  ASSERT_TRUE(measured.dp.lanes);
  EXPECT_TRUE(measured.dp.lanes->simulated);  // dp was not measured at 4
  EXPECT_FALSE(measured.dp.measured);
  EXPECT_TRUE(measured.ddp.measured);
  const Comparison simulated = strategies.compare(4, Source::simulated);
  ASSERT_TRUE(simulated.ddp.lanes);
  EXPECT_TRUE(simulated.ddp.lanes->simulated);
  EXPECT_EQ(simulated.ddp.lanes->step_s, simulated.ddp.row->step_s);
  EXPECT_NEAR(simulated.ddp.parts.step_s(), simulated.ddp.row->step_s, 1e-9 * simulated.ddp.row->step_s);
  EXPECT_THROW(strategies.compare(0, Source::measured), std::invalid_argument);
  EXPECT_THROW(strategies.compare(4097, Source::measured), std::invalid_argument);
  EXPECT_TRUE(strategies.compare(4096, Source::measured).ddp.lanes);
}

TEST(Strategies, NeverMixTheNumbersOfTwoFiles) {
  const test::MeasuredFile file("replaced", {1, 2, 4}, {1, 2}), other("replacing", {1, 2, 4}, {1, 2});
  const auto opened = open_file(file.path());
  const Strategies strategies(opened);
  std::filesystem::rename(other.path(), file.path());
  EXPECT_THROW(strategies.compare(4, Source::measured), std::runtime_error) << "its lanes are read from the file";
  EXPECT_TRUE(strategies.compare(8, Source::measured).ddp.lanes) << "simulated: nothing is read";
  EXPECT_THROW(Strategies{opened}, std::runtime_error);
}

TEST(Strategies, CountTheBytesOfTheBusiestDevice) {
  const test::MeasuredFile file("bytes", {1, 2, 4}, {1, 2, 4});
  const Strategies strategies = strategies_of(file.path());
  // 13 MiB of gradients; each replica receives 1 MB of inputs and returns 10 kB of outputs.
  const double gradients = 13.0 * 1048576.0;
  const Comparison all = strategies.compare(4, Source::measured);
  EXPECT_EQ(all.ddp.traffic.sent_bytes, 1.5 * gradients);
  EXPECT_EQ(all.ddp.traffic.received_bytes, 1.5 * gradients);
  EXPECT_EQ(all.dp.traffic.sent_bytes, 3.0 * (gradients + 1e6));
  EXPECT_EQ(all.dp.traffic.received_bytes, 3.0 * (gradients + 1e4));
  const Comparison one = strategies.compare(1, Source::measured);
  EXPECT_EQ(one.ddp.traffic.sent_bytes, 0.0);
  EXPECT_EQ(one.dp.traffic.sent_bytes, 0.0);
}

// Imported data can be incomplete: a missing value must not be shown as zero.
TEST(Strategies, NameWhatWasNotRecorded) {
  const test::MeasuredFile file("unrecorded", {1, 2}, {});
  {
    store::Database database = store::Database::open_write(file.path());
    database.sql().exec("UPDATE measurement SET parameter_bytes = 0, batch_per_worker = 0");
    database.sql().exec("UPDATE step SET samples = 0");
    for (const char* table : {"collective", "bucket", "grad_ready", "parameter"})
      database.sql().exec(std::string("DELETE FROM ") + table);
  }
  const Comparison all = strategies_of(file.path()).compare(2, Source::measured);
  for (const Side* side : {&all.dp, &all.ddp}) {
    EXPECT_FALSE(side->traffic.sent_bytes);
    EXPECT_THAT(side->traffic.source, HasSubstr("was not recorded"));
  }
  EXPECT_FALSE(all.dp.memory.device_0_bytes);
  const report::Table comparison = comparison_table(all), times = time_table(all);
  for (const report::Row& row : comparison.rows)
    for (const report::Cell& cell : row)
      if (const auto* text = std::get_if<std::string>(&cell)) {
        EXPECT_EQ(text->find("0 samples/s"), std::string::npos) << *text;
        EXPECT_FALSE(text->starts_with("0 B") || text->starts_with("sends 0 B")) << *text;
      }
  ASSERT_EQ(times.rows.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(times.rows[0].back()));
}

TEST(Strategies, GiveTheSourceOfTheMemory) {
  const test::MeasuredFile file("memory", {1, 2}, {1, 2}, true);
  const Strategies strategies = strategies_of(file.path());
  const Comparison two = strategies.compare(2, Source::measured);
  EXPECT_TRUE(two.dp.memory.measured);
  EXPECT_EQ(two.dp.memory.device_0_bytes, 40e6);
  EXPECT_EQ(two.dp.memory.others_bytes, 20e6);
  EXPECT_EQ(two.ddp.memory.device_0_bytes, 30e6);
  // Two more replicas: their inputs and outputs are on device 0 too.
  const Comparison four = strategies.compare(4, Source::measured);
  EXPECT_FALSE(four.dp.memory.measured);
  EXPECT_EQ(four.dp.memory.device_0_bytes, 40e6 + 2.0 * (1e6 + 1e4));
  EXPECT_EQ(four.dp.memory.others_bytes, 20e6);
  EXPECT_EQ(four.ddp.memory.device_0_bytes, 30e6);
  EXPECT_THAT(four.ddp.memory.source, StartsWith("as measured at N = 2"));

  const test::MeasuredFile none("no-memory", {1, 2}, {1, 2});
  const Comparison without = strategies_of(none.path()).compare(2, Source::measured);
  EXPECT_FALSE(without.ddp.memory.device_0_bytes);
  EXPECT_THAT(without.ddp.memory.source, HasSubstr("Measure again"));
  // Parameters and gradients, inputs and outputs of both replicas.
  EXPECT_EQ(without.dp.memory.device_0_bytes, 2.0 * 13.0 * 1048576.0 + 2.0 * (1e6 + 1e4));
  EXPECT_THAT(without.dp.memory.source, HasSubstr("lower bound"));
}

TEST(Strategies, OfAScenarioWithOnlyOneStrategyAdviseWhatToMeasure) {
  const test::MeasuredFile file("ddp-scenario", {1, 2, 4}, {});
  const auto opened = std::make_shared<OpenedFile>(*open_file(file.path()));
  opened->scenario.emplace();
  const Comparison all = Strategies(opened).compare(4, Source::measured);
  EXPECT_THAT(all.dp.why_not, HasSubstr("no step of dp was measured in this file"));
  EXPECT_THAT(all.dp.why_not, HasSubstr("strategies=[dp]"));
}

TEST(Strategies, OfAJobWithOnlyOneStrategySayThatTheOtherWasNotMeasured) {
  const test::MeasuredFile file("ddp-alone", {1, 2, 4}, {});
  const Comparison all = strategies_of(file.path()).compare(4, Source::measured);
  EXPECT_TRUE(all.ddp.row);
  EXPECT_TRUE(all.ddp.lanes);
  EXPECT_FALSE(all.dp.row);
  EXPECT_FALSE(all.dp.in_file);
  EXPECT_EQ(all.dp.why_not, "this job was not measured with DataParallel") << "no scenario could measure it";
  EXPECT_EQ(all.dp.why_no_lanes, all.dp.why_not);
  EXPECT_THAT(recommendation(all), StartsWith("Only DDP has data at N = 4"));
  EXPECT_EQ(time_table(all).rows.size(), 1U);

  const test::MeasuredFile other("dp-alone", {}, {1, 2});
  const Comparison dp = strategies_of(other.path()).compare(2, Source::measured);
  EXPECT_TRUE(dp.dp.lanes);
  EXPECT_EQ(dp.ddp.why_not, "this job was not measured with DDP");
  EXPECT_EQ(comparison_table(dp).rows.size(), 9U);
}

TEST(Strategies, MeasuredAtOnlyOneNAreNotSimulatedElsewhere) {
  const test::MeasuredFile file("one-n", {1}, {1});
  const Strategies strategies = strategies_of(file.path());
  EXPECT_TRUE(strategies.compare(1, Source::measured).ddp.lanes);
  const Comparison eight = strategies.compare(8, Source::measured);
  EXPECT_FALSE(eight.ddp.row);
  EXPECT_THAT(eight.ddp.why_not, HasSubstr("all-reduce: "));
  EXPECT_FALSE(eight.both_predicted);
  EXPECT_THAT(recommendation(eight), StartsWith("Cannot compare"));
}

// Values made by hand, so that every sentence can be checked.
Comparison by_hand() {
  Comparison all;
  all.workers = 4;
  all.both_predicted = true;
  all.ddp_ahead_from = 2;
  all.dp.strategy = "dp";
  all.ddp.strategy = "ddp";
  for (Side* side : {&all.dp, &all.ddp}) {
    side->in_file = side->measured = true;
    side->largest_measured = 16;
    side->row.emplace();
    side->row->world_size = 4;
  }
  all.ddp.backend = "gloo";
  all.ddp.hosts = 2;
  all.ddp.half_efficient_up_to = 16;
  store::PredictionRow& dp = *all.dp.row;
  dp.step_s = 0.1;
  dp.step_low_s = 0.09;
  dp.step_high_s = 0.11;
  all.dp.parts = {0.06, 0.025, 0.0, 0.0, 0.015, 0.0, 0.0};
  dp.throughput = 1280.0;
  dp.efficiency = 0.4;
  store::PredictionRow& ddp = *all.ddp.row;
  ddp.step_s = 0.05;
  ddp.step_low_s = 0.045;
  ddp.step_high_s = 0.055;
  all.ddp.parts = {0.04, 0.007, 0.002, 0.0, 0.0005, 0.0005, 0.011};
  ddp.throughput = 2560.0;
  ddp.efficiency = 0.8;
  all.dp.memory = {4.0 * 1048576, 3.0 * 1048576, true, "measured"};
  all.ddp.memory = {5.0 * 1048576, {}, true, "measured"};
  all.dp.traffic = {6.0 * 1048576, 3.0 * 1048576, "device 0"};
  all.ddp.traffic = {1.5 * 1048576, 1.5 * 1048576, "a ring"};
  return all;
}

std::string cell(const report::Table& table, const std::string& aspect, std::size_t column) {
  for (const report::Row& row : table.rows) {
    if (std::get<std::string>(row[0]) != aspect) continue;
    const auto* text = std::get_if<std::string>(&row[column]);
    return text ? *text : "";
  }
  return "no row " + aspect;
}

constexpr std::size_t dp_here = 2, ddp_here = 4, source = 5;

TEST(ComparisonTable, HasThisRunsFigures) {
  const report::Table table = comparison_table(by_hand());
  ASSERT_EQ(table.rows.size(), 9U);
  EXPECT_EQ(cell(table, "process model", dp_here), "1 process, 4 replica threads");
  EXPECT_EQ(cell(table, "process model", ddp_here), "4 processes, gloo");
  EXPECT_EQ(cell(table, "Python's GIL", dp_here), "not used (C++); Python's DataParallel is slower");
  EXPECT_EQ(cell(table, "GPU (or core) utilisation", dp_here),
            "computing 60.0 % of a step of 100 ms (measured); input, buffers and gaps 15.0 %");
  EXPECT_EQ(cell(table, "GPU (or core) utilisation", ddp_here), "computing 80.0 % of a step of 50 ms (measured)");
  EXPECT_EQ(cell(table, "synchronisation", dp_here), "copies: 25 ms (25.0 %)");
  EXPECT_EQ(cell(table, "synchronisation", ddp_here),
            "exposed: 9 ms (18.0 %), including waiting for slower ranks: 2 ms; hidden: 55.0 % of all communication");
  EXPECT_EQ(cell(table, "several machines", 1), "no");
  EXPECT_EQ(cell(table, "several machines", ddp_here), "measured on 2 hosts");
  EXPECT_EQ(cell(table, "scaling", dp_here),
            "weak efficiency 40.0 % at N = 4 (measured), 1280 samples/s; below 50 % from N = 2 on");
  EXPECT_EQ(cell(table, "scaling", ddp_here),
            "weak efficiency 80.0 % at N = 4 (measured), 2560 samples/s; at least 50 % up to N = 16");
  EXPECT_EQ(cell(table, "memory of device 0", dp_here), "4 MiB, other devices 3 MiB (measured)");
  EXPECT_EQ(cell(table, "memory of device 0", ddp_here), "5 MiB (measured)");
  EXPECT_EQ(cell(table, "traffic of the busiest device per step", dp_here), "sends 6 MiB, receives 3 MiB");
  EXPECT_EQ(cell(table, "recommendation", ddp_here), recommendation(by_hand()));
  for (const report::Row& row : table.rows) EXPECT_FALSE(std::get<std::string>(row[source]).empty());
}

// A trace of a Python job is not a measurement in C++, and of one rank of several the waits are estimates.
TEST(ComparisonTable, DoesNotStateWhatATraceDoesNotShow) {
  Comparison all = by_hand();
  all.dp = {};
  all.dp.strategy = "dp";
  all.dp.why_not = "no step of dp was measured in this file";
  all.ddp.imported = all.ddp.waits_estimated = true;
  const report::Table table = comparison_table(all);
  EXPECT_EQ(cell(table, "Python's GIL", ddp_here), "not recorded in the trace");
  EXPECT_EQ(table.note.find("C++"), std::string::npos) << table.note;
  EXPECT_NE(cell(table, "synchronisation", ddp_here).find("2 ms (estimated: not all ranks were imported)"),
            std::string::npos);
}

TEST(ComparisonTable, PassesTheModelTesterWithTheSameTexts) {
  ReportTableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(comparison_table(by_hand()));
  EXPECT_EQ(model.rowCount(), 9);
  EXPECT_EQ(model.columnCount(), 6);
  EXPECT_EQ(model.index(3, 2).data().toString(), "copies: 25 ms (25.0 %)");
  model.set_table(time_table(by_hand()));
  EXPECT_EQ(model.rowCount(), 2);
  model.set_table(device_table(by_hand()));
  EXPECT_EQ(model.rowCount(), 2);
}

TEST(Recommendation, FollowsFromTheFigures) {
  const std::string no_lock = " Python's DataParallel is slower than this one, because of its GIL.";
  Comparison all = by_hand();
  EXPECT_EQ(recommendation(all), "DDP has 2.00 times the throughput of DataParallel at N = 4 (measured)." + no_lock);
  all.ddp.measured = false;
  EXPECT_EQ(recommendation(all), "DDP has 2.00 times the throughput of DataParallel at N = 4 (simulated)." + no_lock);

  all = by_hand();
  std::swap(all.dp.row, all.ddp.row);
  all.ddp_ahead_from = 32;
  EXPECT_EQ(recommendation(all),
            "DataParallel has 2.00 times the throughput of DDP at N = 4 (measured). DDP is faster from N = 32 on "
            "(predicted from N ≤ 16)." +
                no_lock);
  // No claim for thousands of workers from 16.
  const std::string stays =
      "DataParallel has 2.00 times the throughput of DDP at N = 4 (measured). DataParallel stays faster at least up to "
      "N = 64 (predicted from N ≤ 16); larger N are too far from the measured ones to tell.";
  all.ddp_ahead_from = 512;
  EXPECT_EQ(recommendation(all), stays + no_lock);
  all.ddp_ahead_from.reset();
  EXPECT_EQ(recommendation(all), stays + no_lock);
  // Ranks that share cores: the claims are of the measured machine.
  all.shares_cores = true;
  EXPECT_EQ(recommendation(all),
            "DataParallel has 2.00 times the throughput of DDP at N = 4 (measured). On these cores, DataParallel stays "
            "faster at least up to N = 64 (predicted from N ≤ 16); larger N are too far from the measured ones to "
            "tell." +
                no_lock);
  all.ddp_ahead_from = 32;
  EXPECT_EQ(recommendation(all),
            "DataParallel has 2.00 times the throughput of DDP at N = 4 (measured). On these cores, DDP is faster from "
            "N = 32 on (predicted from N ≤ 16)." +
                no_lock);
  all.both_predicted = false;
  EXPECT_EQ(recommendation(all), "DataParallel has 2.00 times the throughput of DDP at N = 4 (measured)." + no_lock);

  all = by_hand();
  all.ddp.row->step_high_s = 0.095;  // within DataParallel's interval
  EXPECT_EQ(recommendation(all),
            "No clear difference at N = 4: DDP has 2.00 times the throughput of DataParallel (measured), but the "
            "intervals of the steps overlap. PyTorch recommends DDP." +
                no_lock);
  all = by_hand();
  all.workers = 1;
  EXPECT_EQ(recommendation(all),
            "One worker exchanges nothing: the throughput of DDP is 2.00 times that of the model alone (measured).");
}

// Four times the measured N = 2 are 8 ranks: more than 4 cores, and fewer than 1024.
TEST(Recommendation, DependsOnWhetherRanksShareCores) {
  for (const std::int64_t cores : {4, 1024}) {
    fit::synthetic::Truth truth;
    truth.cores = cores;
    fit::synthetic::TemporaryDatabase database("recommendation-of-" + std::to_string(cores));
    fit::synthetic::add_ddp(database.get(), truth, {1, 2}, 3);
    fit::synthetic::add_dp(database.get(), truth, {1, 2}, 4);
    database.get().finish_load();
    const Comparison all = strategies_of(database.get().path()).compare(2, Source::measured);
    EXPECT_EQ(all.near_measured(), 8);
    EXPECT_EQ(all.shares_cores, cores == 4) << cores;
  }
}

TEST(TimeTable, AddsUpToTheStep) {
  const report::Table table = time_table(by_hand());
  ASSERT_EQ(table.rows.size(), 2U);
  for (const report::Row& row : table.rows) {
    double sum_s = 0.0;
    for (std::size_t column = 4; column <= 9; ++column) sum_s += std::get<double>(row[column]);  // compute to the rest
    EXPECT_NEAR(sum_s, std::get<double>(row[3]), 1e-12);
  }
}

}  // namespace
}  // namespace ddpprof::gui
