// Changes of a sharded training, and its memory, from measurements that follow a known law (sharded_measurements.hpp).
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "tests/analysis/predict/sharded_measurements.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;

// Returns the row of the change at 8 ranks.
const WhatIfRow& at_eight(const PredictResult& result) {
  const auto found = std::ranges::find(result.what_ifs, 8, &WhatIfRow::workers);
  EXPECT_NE(found, result.what_ifs.end());
  return *found;
}

class ShardedChanges : public Sharded {
 protected:
  void changed(const std::vector<std::string>& changes) {
    PredictOptions options;
    options.what_if = parse_what_if(changes);
    predicted(true, options);
  }
};

TEST_F(ShardedChanges, WithoutReshardingEachUnitIsGatheredOnce) {
  measure(1);
  measure(2);
  changed({"reshard_after_forward=off"});
  double gathered_s = 0;
  for (const Unit& unit : units)
    if (unit.bytes > 0) gathered_s += ring_s(8, unit.bytes, gather_latency_s, gather_s_per_byte);
  const double before_s = compute_s(8) + other_s + exposed_s(8);
  const WhatIfRow& row = at_eight(result_);
  EXPECT_NEAR(row.step_s / before_s, 1.0, near);
  EXPECT_NEAR(row.changed_step_s / (before_s - gathered_s), 1.0, near);
  EXPECT_NEAR(row.speedup / (before_s / (before_s - gathered_s)), 1.0, near);
  EXPECT_LT(row.speedup_low, row.speedup);
  EXPECT_GT(row.speedup_high, row.speedup);
  EXPECT_EQ(result_.what_ifs.size(), 3U) << "N = 2, 4, 8";
  ASSERT_EQ(std::ranges::count(result_.notes, "what_if_none", &Note::code), 1);
  EXPECT_THAT(result_.notes[0].message, HasSubstr("at N = 1: a single rank does not communicate"));
}

TEST_F(ShardedChanges, ReplicasReduceTheirShards) {
  measure(1);
  measure(2);
  changed({"replicate=2"});
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
  EXPECT_NEAR(at_eight(result_).changed_step_s / (compute_s(8) + optimizer_of_a_quarter_s + other_s + exposed), 1.0, near);
  EXPECT_THAT(result_.notes.at(0).message, HasSubstr("at N = 2: 2 replicas"));
}

TEST_F(ShardedChanges, DdpReducesEachUnitBesideTheBackward) {
  measure(1, {.device = "cuda"});
  measure(2, {.device = "cuda"});
  changed({"strategy=ddp"});
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
}

TEST_F(ShardedChanges, ChangesThatAreNotModelledAreRefused) {
  measure(1);
  measure(2);
  const std::pair<std::vector<std::string>, const char*> refused[] = {
      {{"strategy=ddp"}, "on a CPU DDP's cost does not follow from FSDP's"},
      {{"prefetch=off"}, "on a CPU FSDP waits for each of its collectives"},
      {{"accumulation=4"}, "not modelled for a sharded training: accumulation"},
      {{"strategy=zero1"}, "not modelled for a sharded training: this strategy"},
      {{"reshard_after_forward=on"}, "already has this value of reshard_after_forward"},
      {{"strategy=ddp", "replicate=2"}, "ddp has no shards"}};
  for (const auto& [changes, reason] : refused) {
    changed(changes);
    EXPECT_TRUE(result_.what_ifs.empty()) << reason;
    ASSERT_FALSE(result_.notes.empty()) << reason;
    EXPECT_THAT(result_.notes[0].message, HasSubstr(reason));
  }
}

TEST_F(ShardedChanges, LinksAndComputeScaleTheirParts) {
  measure(1);
  measure(2);
  changed({"bandwidth=2x", "latency=0.5x", "compute=4x"});
  EXPECT_NEAR(at_eight(result_).changed_step_s / (compute_s(8) / 4 + other_s + exposed_s(8) / 2), 1.0, 2 * near);
}

// The list has the changes that --what-if accepts, with its numbers, and leaves out those that it rejects.
TEST_F(ShardedChanges, UsualChangesAreRankedByTheGainOfTheChangeAlone) {
  measure(1);
  measure(2);
  PredictOptions options;
  options.dedicated = true;
  const std::vector<RankedChange> ranked = ranked_sharded_changes(database_.sql(), options, 8);
  std::vector<std::string> changes;
  double before = 1e9;
  for (const RankedChange& one : ranked) {
    changes.push_back(one.change);
    EXPECT_LE(one.effect.speedup, before) << one.change;
    before = one.effect.speedup;
    EXPECT_FALSE(change_requires(one.change).empty()) << one.change;
    changed({one.change});
    EXPECT_EQ(one.effect.speedup, at_eight(result_).speedup) << one.change;
    EXPECT_EQ(one.effect.speedup_low, at_eight(result_).speedup_low) << one.change;
  }
  EXPECT_THAT(changes, testing::UnorderedElementsAre("reshard_after_forward=off", "replicate=2", "precision=bf16",
                                                     "bandwidth=2x", "latency=0.5x", "compute=2x"))
      << "strategy=ddp is rejected on CPUs";
  EXPECT_TRUE(ranked_sharded_changes(database_.sql(), options, 1).empty()) << "one rank does not communicate";
  options.dedicated = false;
  EXPECT_EQ(ranked_sharded_changes(database_.sql(), options, 8).size(), ranked.size()) << "with own cores, too";
}

TEST_F(ShardedChanges, MemoryIsThatOfTheShards) {
  measure(1);
  measure(2);
  changed({"reshard_after_forward=off"});
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

}  // namespace
}  // namespace ddpprof::fit
