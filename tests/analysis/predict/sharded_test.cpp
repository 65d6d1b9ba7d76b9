// Predictions of a sharded training from measurements that follow a known law without noise: all-gathers and
// reduce-scatters are rings, the optimizer's time is proportional to the shard.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/fit/sharded/ring_fit.hpp"
#include "analysis/predict/predict.hpp"
#include "tests/store/shard_builder.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;

constexpr double gather_latency_s = 1e-3, gather_s_per_byte = 2e-9, scatter_latency_s = 2e-3, scatter_s_per_byte = 5e-9;
constexpr double optimizer_s = 16e-3, other_s = 1e-3;  // the optimizer of all parameters

double ring_s(std::int64_t workers, double bytes, double latency_s, double s_per_byte) {
  const auto n = static_cast<double>(workers);
  return (n - 1) * latency_s + (n - 1) / n * bytes * s_per_byte;
}

struct Unit {
  double bytes, forward_s, backward_s;
};
constexpr Unit units[] = {{0.0, 2e-3, 3e-3}, {1e6, 10e-3, 20e-3}, {4e6, 15e-3, 30e-3}, {2e6, 5e-3, 10e-3}};

double compute_s(std::int64_t workers) {
  double sum_s = optimizer_s / static_cast<double>(workers);
  for (const Unit& unit : units) sum_s += unit.forward_s + unit.backward_s;
  return sum_s;
}

// FSDP waits for its collectives on a CPU.
double exposed_s(std::int64_t workers) {
  double sum_s = 0;
  for (const Unit& unit : units)
    if (unit.bytes > 0)
      sum_s += 2 * ring_s(workers, unit.bytes, gather_latency_s, gather_s_per_byte) +
               ring_s(workers, unit.bytes, scatter_latency_s, scatter_s_per_byte);
  return sum_s;
}

std::int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

class Sharded : public testing::Test {
 protected:
  void measure(std::int64_t workers, std::int64_t replicas = 1) {
    store::MeasurementRow measurement;
    measurement.kind = "import";
    measurement.strategy = "fsdp";
    measurement.world_size = workers;
    measurement.batch_per_worker = 32;
    measurement.cores = 2;
    measurement.options = R"({"optimizer": "AdamW"})";
    const std::int64_t id = store::Inserter<store::MeasurementRow>(database_).insert(measurement);
    for (std::size_t i = 0; i < std::size(units); ++i) {
      store::ShardedUnitRow row;
      row.measurement_id = id;
      row.unit = static_cast<std::int64_t>(i);
      row.root = i == 0 ? 1 : 0;
      if (workers > 1) row.gathered_bytes = row.scattered_bytes = static_cast<std::int64_t>(units[i].bytes);
      if (row.gathered_bytes > 0) row.gathers_again = 1;
      store::Inserter<store::ShardedUnitRow>(database_).insert(row);
    }
    for (std::int64_t rank = 0; rank < workers; ++rank) {
      store::ShardRow shard;
      shard.measurement_id = id;
      shard.rank = rank;
      const std::int64_t shard_id = store::Inserter<store::ShardRow>(database_).insert(shard);
      for (std::int64_t number = 0; number < 8; ++number) add_step(shard_id, number, workers, replicas);
    }
  }

  void add_step(std::int64_t shard_id, std::int64_t number, std::int64_t workers, std::int64_t replicas) {
    store::StepRow step;
    step.shard_id = shard_id;
    step.step = number;
    step.optimizer_ns = ns(optimizer_s / static_cast<double>(workers));
    step.exposed_ns = step.communication_ns = workers > 1 ? ns(exposed_s(workers)) : 0;
    step.duration_ns = ns(compute_s(workers) + other_s) + step.exposed_ns;
    const std::int64_t step_id = store::Inserter<store::StepRow>(database_).insert(step);
    store::Inserter<store::ShardedWorkRow> rows(database_);
    for (std::size_t i = 0; i < std::size(units); ++i) {
      const Unit& unit = units[i];
      store::ShardedWorkRow work;
      work.step_id = step_id;
      work.unit = static_cast<std::int64_t>(i);
      work.busy_ns = work.end_ns = ns(unit.forward_s);
      rows.insert(work);
      work.pass = "backward";
      work.busy_ns = work.end_ns = ns(unit.backward_s);
      rows.insert(work);
      if (workers < 2 || unit.bytes == 0) continue;
      work.busy_ns = std::nullopt;
      work.bytes = static_cast<std::int64_t>(unit.bytes);
      const auto add = [&](const char* action, double seconds) {
        work.action = action;
        work.end_ns = ns(seconds);
        work.exposed_ns = work.end_ns;
        rows.insert(work);
      };
      for (int pass = 0; pass < 2; ++pass)
        add("all_gather", ring_s(workers, unit.bytes, gather_latency_s, gather_s_per_byte));
      add("reduce_scatter", ring_s(workers, unit.bytes, scatter_latency_s, scatter_s_per_byte));
      if (replicas > 1) add("all_reduce", 1e-3);
    }
  }

  std::map<std::int64_t, Prediction> predicted(bool dedicated = true, const std::vector<std::string>& changes = {}) {
    PredictOptions options;
    options.workers = {1, 2, 4, 8};
    options.dedicated = dedicated;
    options.what_if = parse_what_if(changes);
    result_ = predict_all(database_, options);
    std::map<std::int64_t, Prediction> rows;
    for (const Prediction& row : result_.predictions) rows[row.world_size] = row;
    return rows;
  }

  test::TemporaryFolder folder_;
  store::Database database_ = store::Database::create(folder_ / "a.db");
  PredictResult result_;
};

TEST_F(Sharded, MoreRanksFollowTheLaw) {
  measure(1);
  measure(2);
  const std::map<std::int64_t, Prediction> rows = predicted();
  ASSERT_EQ(rows.size(), 4U);
  for (const auto& [workers, row] : rows) {
    EXPECT_EQ(row.strategy, "fsdp");
    EXPECT_NEAR(row.compute_s, compute_s(workers), 1e-6) << workers;
    EXPECT_NEAR(row.exposed_s, workers > 1 ? exposed_s(workers) : 0.0, 1e-6) << workers;
    EXPECT_NEAR(row.other_s, other_s, 1e-6) << workers;
    EXPECT_NEAR(row.step_s, row.compute_s + row.exposed_s + row.skew_s + row.other_s, 1e-9) << workers;
    EXPECT_LE(row.step_low_s, row.step_s) << workers;
    EXPECT_GE(row.step_high_s, row.step_s) << workers;
    EXPECT_NEAR(row.throughput, static_cast<double>(32 * workers) / row.step_s, 1e-6);
    EXPECT_NEAR(row.efficiency, rows.at(1).step_s / row.step_s, 1e-9);
    EXPECT_NEAR(row.latency_s + row.bandwidth_s, row.communication_s, 1e-9);
  }
  EXPECT_NEAR(rows.at(8).latency_s, 3 * 7 * (2 * gather_latency_s + scatter_latency_s), 1e-6);
  EXPECT_LT(rows.at(4).step_high_s / rows.at(4).step_low_s, rows.at(8).step_high_s / rows.at(8).step_low_s);
  EXPECT_EQ(rows.at(8).extrapolation, 4.0);
}

TEST_F(Sharded, WithoutOneRankTheOptimizerIsUncertain) {
  measure(2);
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_NEAR(rows.at(8).compute_s, compute_s(2) - 0.5 * (optimizer_s / 2 - optimizer_s / 8), 1e-6);
  EXPECT_LT(rows.at(8).step_low_s, compute_s(8) + exposed_s(8) + other_s);
  EXPECT_GT(rows.at(8).step_high_s, compute_s(8) + exposed_s(8) + other_s);
}

TEST_F(Sharded, RanksThatShareCoresAreRefused) {
  measure(1);
  measure(2);
  const std::map<std::int64_t, Prediction> rows = predicted(false);
  EXPECT_TRUE(rows.contains(2)) << "measured";
  EXPECT_FALSE(rows.contains(4)) << "4 ranks on 2 cores";
  ASSERT_EQ(result_.notes.size(), 1U);
  EXPECT_THAT(result_.notes[0].message, HasSubstr("fsdp at N = 4, 8 is not predicted"));
  EXPECT_THAT(result_.notes[0].message, HasSubstr("--sharing dedicated"));
}

TEST_F(Sharded, OneRankAloneDoesNotShowTheCollectives) {
  measure(1);
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_EQ(rows.size(), 1U) << "the measured one";
  EXPECT_EQ(rows.count(1), 1U);
  ASSERT_EQ(result_.notes.size(), 1U);
  EXPECT_THAT(result_.notes[0].message, HasSubstr("no measurement with 2 or more ranks"));
}

// 4 ranks shared 2 cores: their compute is not that of a rank with a core of its own.
TEST_F(Sharded, PredictionsStartFromRanksWithCoresOfTheirOwn) {
  measure(1);
  measure(2);
  measure(4);
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_EQ(rows.at(8).extrapolation, 4.0) << "from 2";
  EXPECT_NEAR(rows.at(8).exposed_s, exposed_s(8), 1e-6);
}

TEST_F(Sharded, ReplicasOfShardsAreRefused) {
  measure(4, 2);
  PredictOptions options;
  options.workers = {8};
  options.dedicated = true;
  EXPECT_THROW(predict_all(database_, options), NotSupported);
}

// Of the change at 8 ranks.
const WhatIfRow& at_eight(const PredictResult& result) {
  const auto found = std::ranges::find(result.what_ifs, 8, &WhatIfRow::workers);
  EXPECT_NE(found, result.what_ifs.end());
  return *found;
}

TEST_F(Sharded, WithoutReshardingEachUnitIsGatheredOnce) {
  measure(1);
  measure(2);
  predicted(true, {"reshard_after_forward=off"});
  double gathered_s = 0;
  for (const Unit& unit : units)
    if (unit.bytes > 0) gathered_s += ring_s(8, unit.bytes, gather_latency_s, gather_s_per_byte);
  const double before_s = compute_s(8) + other_s + exposed_s(8);
  const WhatIfRow& row = at_eight(result_);
  EXPECT_NEAR(row.step_s, before_s, 1e-6);
  EXPECT_NEAR(row.changed_step_s, before_s - gathered_s, 1e-6);
  EXPECT_NEAR(row.speedup, before_s / (before_s - gathered_s), 1e-4);
  EXPECT_LT(row.speedup_low, row.speedup);
  EXPECT_GT(row.speedup_high, row.speedup);
  EXPECT_EQ(result_.what_ifs.size(), 3U) << "N = 2, 4, 8";
  ASSERT_EQ(result_.notes.size(), 1U);
  EXPECT_THAT(result_.notes[0].message, HasSubstr("at N = 1: a single rank does not communicate"));
}

TEST_F(Sharded, ReplicasReduceTheirShards) {
  measure(1);
  measure(2);
  predicted(true, {"replicate=2"});
  double exposed = 0;
  for (const Unit& unit : units) {
    if (unit.bytes == 0) continue;
    exposed += 2 * ring_s(4, unit.bytes, gather_latency_s, gather_s_per_byte) +
               ring_s(4, unit.bytes, scatter_latency_s, scatter_s_per_byte);
    // An all-reduce of a quarter over two replicas: a reduce-scatter and an all-gather.
    exposed += ring_s(2, unit.bytes / 4, scatter_latency_s, scatter_s_per_byte) +
               ring_s(2, unit.bytes / 4, gather_latency_s, gather_s_per_byte);
  }
  const double optimizer_of_a_quarter_s = optimizer_s / 4 - optimizer_s / 8;
  EXPECT_NEAR(at_eight(result_).changed_step_s, compute_s(8) + optimizer_of_a_quarter_s + other_s + exposed, 1e-6);
  EXPECT_THAT(result_.notes.at(0).message, HasSubstr("at N = 2: 2 replicas"));
}

TEST_F(Sharded, DdpReducesEachUnitBesideTheBackward) {
  measure(1);
  measure(2);
  predicted(true, {"strategy=ddp"});
  double reduced_s = 0;
  for (const Unit& unit : units)
    if (unit.bytes > 0)
      reduced_s += ring_s(8, unit.bytes, scatter_latency_s, scatter_s_per_byte) +
                   ring_s(8, unit.bytes, gather_latency_s, gather_s_per_byte);
  const double compute_of_ddp_s = compute_s(8) - optimizer_s / 8 + optimizer_s + other_s;
  const WhatIfRow& row = at_eight(result_);
  EXPECT_GT(row.changed_step_s, compute_of_ddp_s);
  EXPECT_LT(row.changed_step_s, compute_of_ddp_s + reduced_s);
  // The first reduced unit's backward and what the others compute after it.
  EXPECT_GE(row.changed_step_s, compute_of_ddp_s + reduced_s - (30e-3 + 20e-3));
  EXPECT_GE(row.changed_high_s, compute_of_ddp_s + 0.8 * reduced_s) << "nothing may hide beside compute on a CPU";
}

TEST_F(Sharded, ChangesThatAreNotModelledAreRefused) {
  measure(1);
  measure(2);
  const std::pair<std::vector<std::string>, const char*> refused[] = {
      {{"prefetch=off"}, "on a CPU FSDP waits for each of its collectives"},
      {{"accumulation=4"}, "not modelled for a sharded training: accumulation"},
      {{"strategy=zero1"}, "not modelled for a sharded training: this strategy"},
      {{"reshard_after_forward=on"}, "already has reshard_after_forward as asked"},
      {{"strategy=ddp", "replicate=2"}, "ddp has no shards"}};
  for (const auto& [changes, reason] : refused) {
    predicted(true, changes);
    EXPECT_TRUE(result_.what_ifs.empty()) << reason;
    ASSERT_FALSE(result_.notes.empty()) << reason;
    EXPECT_THAT(result_.notes[0].message, HasSubstr(reason));
  }
}

TEST_F(Sharded, LinksAndComputeScaleTheirParts) {
  measure(1);
  measure(2);
  predicted(true, {"bandwidth=2x", "latency=0.5x", "compute=4x"});
  EXPECT_NEAR(at_eight(result_).changed_step_s, compute_s(8) / 4 + other_s + exposed_s(8) / 2, 1e-6);
}

TEST_F(Sharded, MemoryIsThatOfTheShards) {
  measure(1);
  measure(2);
  predicted(true, {"reshard_after_forward=off"});
  const auto memory_of = [&](std::int64_t workers, bool changed) {
    return *std::ranges::find_if(
        result_.memory, [&](const ShardedMemory& one) { return one.workers == workers && one.changed == changed; });
  };
  const ShardedMemory four = memory_of(4, false);
  EXPECT_DOUBLE_EQ(four.parameters_bytes, 7e6 / 4);
  EXPECT_DOUBLE_EQ(four.gradients_bytes, 7e6 / 4);
  EXPECT_DOUBLE_EQ(four.optimizer_bytes.value(), 2 * 7e6 / 4) << "AdamW";
  EXPECT_DOUBLE_EQ(four.gathered_bytes, 4e6 + 2e6) << "the two largest neighbours";
  EXPECT_DOUBLE_EQ(four.buffers_bytes, 4e6) << "the largest unit's gradients";
  EXPECT_EQ(four.largest(), "gathered");
  EXPECT_DOUBLE_EQ(memory_of(4, true).gathered_bytes, 7e6) << "all units until the backward has ended";
  EXPECT_DOUBLE_EQ(memory_of(8, false).parameters_bytes, 7e6 / 8);
}

// Tensor parallel layers reduce their activations beside the units' collectives.
TEST_F(Sharded, DataOfNoUnitIsRefused) {
  measure(1);
  measure(2);
  database_.sql().exec(
      "INSERT INTO collective (shard_id, step_id, communicator, sequence, op, bucket, bytes, launch_ns) SELECT shard_id, "
      "id, 7, id, 'all_reduce', -1, 1000000, 0 FROM step");
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_TRUE(rows.contains(2)) << "measured";
  EXPECT_FALSE(rows.contains(4));
  ASSERT_EQ(result_.notes.size(), 1U);
  EXPECT_THAT(result_.notes[0].message, HasSubstr("data that belongs to no unit, as tensor, pipeline"));
}

TEST_F(Sharded, TheTablesOfPredictionsHaveTheRows) {
  measure(1);
  measure(2);
  PredictOptions options;
  options.workers = {4};
  options.dedicated = true;
  fit_and_predict(database_, options, {});
  EXPECT_EQ(database_.sql().execAndGet("SELECT COUNT(*) FROM prediction WHERE strategy = 'fsdp'").getInt(), 1);
}

TEST(RingFit, ItsTermsAreFound) {
  std::vector<UnitCollectiveTime> points;
  for (const std::int64_t workers : {2, 4})
    for (const double bytes : {1e4, 1e6, 5e7})
      points.push_back({workers, bytes, ring_s(workers, bytes, gather_latency_s, gather_s_per_byte)});
  const RingCost cost = fit_ring(points);
  EXPECT_NEAR(cost.latency_s, gather_latency_s, 1e-9);
  EXPECT_NEAR(cost.seconds_per_byte, gather_s_per_byte, 1e-15);
  EXPECT_NEAR(cost.error, 0.0, 1e-9);
}

TEST(RingFit, NoTermIsNegative) {
  const UnitCollectiveTime falling[] = {{2, 1e6, 5e-3}, {2, 2e6, 4e-3}};
  EXPECT_GE(fit_ring(falling).seconds_per_byte, 0.0);
  const UnitCollectiveTime steep[] = {{2, 1e6, 1e-3}, {2, 2e6, 9e-3}};
  EXPECT_GE(fit_ring(steep).latency_s, 0.0);
  const UnitCollectiveTime one[] = {{2, 1e6, 1e-3}, {2, 1e6, 1e-3}};
  EXPECT_EQ(fit_ring(one).latency_s, 0.0);
  EXPECT_NEAR(fit_ring(one).seconds(2, 1e6), 1e-3, 1e-12);
  EXPECT_EQ(fit_ring({}).seconds(8, 1e6), 0.0);
}

}  // namespace
}  // namespace ddpprof::fit
