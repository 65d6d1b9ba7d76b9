// Steps against closed forms: DDP's recurrence, its buckets, DataParallel.
#include <gtest/gtest.h>

#include <numeric>

#include "simulator/step/buckets.hpp"
#include "simulator/step/data_parallel.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::step {
namespace {

constexpr std::int64_t mib = 1 << 20;

// A backward of `count` equal parts, each of which fills a bucket.
DdpStep even_step(int count, double part_s, const collective::Cost& cost) {
  DdpStep step;
  step.backward_s = count * part_s;
  for (int i = 1; i <= count; ++i) step.buckets.push_back({i * part_s, cost, 0.0});
  return step;
}

TEST(DdpStep, ReproducesThePublishedClosedForm) {
  // 4 x (5 ms backward, 25 MiB all-reduce overlapped), ring at 10 GB/s and 1.5 us a hop, chunks of whole bytes: a
  // bucket takes 2(N-1)(floor(S/N)/1e10 + 1.5 us). SimGrid gives the same figures.
  const std::vector<std::pair<std::int64_t, double>> published = {
      {8, 24.608520e-3}, {64, 26.399840e-3}, {256, 28.949600e-3}, {512, 32.062560e-3}, {1024, 38.227040e-3}};
  for (const auto& [workers, expected_s] : published) {
    const std::int64_t chunk_bytes = 25 * mib / workers;
    const auto cost = collective::ring(workers, static_cast<double>(chunk_bytes * workers), {1.5e-6, 1e-10, 0.0});
    const DdpResult result = simulate(even_step(4, 5e-3, cost));
    EXPECT_NEAR(result.step_s, expected_s, 0.5e-9) << workers;
  }
}

TEST(DdpStep, HiddenCommunicationLeavesOnlyTheLastBucket) {
  const DdpResult result = simulate(even_step(4, 5e-3, {0.0, 3e-3, 0.0}));
  EXPECT_NEAR(result.step_s, 23e-3, 1e-12);
  EXPECT_NEAR(result.exposed_s, 3e-3, 1e-12);
  EXPECT_NEAR(result.overlapped_s, 9e-3, 1e-12);
  EXPECT_NEAR(result.communication_s, 12e-3, 1e-12);
  EXPECT_NEAR(result.buckets[2].start_s, 15e-3, 1e-12);
}

TEST(DdpStep, SlowCommunicationQueuesBehindOneLane) {
  // First at 5 ms, then 4 x 8 ms back to back.
  const DdpResult result = simulate(even_step(4, 5e-3, {0.0, 8e-3, 0.0}));
  EXPECT_NEAR(result.step_s, 37e-3, 1e-12);
  EXPECT_NEAR(result.buckets[1].launch_s, 10e-3, 1e-12);
  EXPECT_NEAR(result.buckets[1].start_s, 13e-3, 1e-12);
}

TEST(DdpStep, TwoLanesHideLatencyButShareTheLink) {
  // Both buckets ready at 0. One lane: 2 (L + W). Two lanes on one link: L + 2W. On links of their own: L + W.
  DdpStep step;
  step.buckets = {{0.0, {4e-3, 10e-3, 0.0}, 0.0}, {0.0, {4e-3, 10e-3, 0.0}, 0.0}};
  EXPECT_NEAR(simulate(step).step_s, 28e-3, 1e-12);
  step.lanes = 2;
  EXPECT_NEAR(simulate(step).step_s, 24e-3, 1e-12);
  step.lanes_share_link = false;
  EXPECT_NEAR(simulate(step).step_s, 14e-3, 1e-12);
}

TEST(DdpStep, AShortTransferBesideALongOneTakesItsShare) {
  // Bandwidth only, 10 ms and 2 ms together: the short one ends at 4, then 8 ms are left: 12 in all.
  DdpStep step;
  step.lanes = 2;
  step.buckets = {{0.0, {0.0, 10e-3, 0.0}, 0.0}, {0.0, {0.0, 2e-3, 0.0}, 0.0}};
  const DdpResult result = simulate(step);
  EXPECT_NEAR(result.buckets[1].end_s, 4e-3, 1e-12);
  EXPECT_NEAR(result.buckets[0].end_s, 12e-3, 1e-12);
}

TEST(DdpStep, BucketsLaunchInOrderEvenWhenALaterOneIsReadyFirst) {
  DdpStep step;
  step.backward_s = 10e-3;
  step.buckets = {{8e-3, {0.0, 1e-3, 0.0}, 0.0}, {2e-3, {0.0, 1e-3, 0.0}, 0.0}};
  const DdpResult result = simulate(step);
  EXPECT_NEAR(result.buckets[1].ready_s, 2e-3, 1e-12);
  EXPECT_NEAR(result.buckets[1].launch_s, 8e-3, 1e-12);
  EXPECT_NEAR(result.buckets[1].start_s, 9e-3, 1e-12);
}

TEST(DdpStep, SlowdownStretchesBackwardByTheOverlap) {
  // s = 1.25, a bucket ready at 4 of 10 ms, 5 ms long: O = 5 ms, T_bwd' = 10 + (1 - 1/1.25) 5 = 11.
  DdpStep step;
  step.backward_s = 10e-3;
  step.slowdown = 1.25;
  step.buckets = {{4e-3, {0.0, 5e-3, 0.0}, 0.0}, {10e-3, {0.0, 1e-3, 0.0}, 0.0}};
  const DdpResult result = simulate(step);
  EXPECT_NEAR(result.overlapped_s, 5e-3, 1e-12);
  EXPECT_NEAR(result.backward_s, 11e-3, 1e-12);
  EXPECT_NEAR(result.buckets[1].ready_s, 11e-3, 1e-12);
  EXPECT_NEAR(result.step_s, 12e-3, 1e-12);
}

TEST(DdpStep, CopiesBackHideBehindLaterBuckets) {
  // Ends at 5 and 10 ms (backward ends at 1 ms), copies of 2 ms: the first hides, the second does not.
  DdpStep step;
  step.backward_s = 1e-3;
  step.buckets = {{1e-3, {0.0, 4e-3, 0.0}, 2e-3}, {1e-3, {0.0, 5e-3, 0.0}, 2e-3}};
  const DdpResult result = simulate(step);
  EXPECT_NEAR(result.finish_s, 12e-3, 1e-12);
  EXPECT_NEAR(result.exposed_copy_s, 2e-3, 1e-12);
  EXPECT_NEAR(result.exposed_s, 11e-3, 1e-12);
}

TEST(DdpStep, StragglerDelaysByItsShareOfTheCompute) {
  // Forward 10, backward 10, straggler 2 ms: at half of the backward, three quarters of it, 1.5 ms.
  DdpStep step;
  step.forward_s = 10e-3;
  step.backward_s = 10e-3;
  step.straggler_s = 2e-3;
  step.buckets = {{5e-3, {0.0, 1e-3, 0.0}, 0.0}, {10e-3, {0.0, 1e-3, 0.0}, 0.0}};
  const DdpResult result = simulate(step);
  EXPECT_NEAR(result.buckets[0].start_s, 6.5e-3, 1e-12);
  EXPECT_NEAR(result.step_s, 23e-3, 1e-12);
}

TEST(DdpStep, EveryOtherTermAddsUp) {
  DdpStep step;
  step.data_s = 1e-3;
  step.buffers_s = 2e-3;
  step.forward_s = 3e-3;
  step.backward_s = 4e-3;
  step.optimizer_s = 5e-3;
  step.accumulation = 3;
  EXPECT_NEAR(simulate(step).step_s, 2 * 8e-3 + 15e-3, 1e-12);
  EXPECT_NEAR(simulate(step).exposed_s, 2e-3, 1e-12);
}

TEST(DdpStep, CostlessCollectivesEndWhereTheyStart) {
  const DdpResult result = simulate(even_step(3, 1e-3, {}));
  EXPECT_NEAR(result.step_s, 3e-3, 1e-15);
  EXPECT_EQ(result.communication_s, 0.0);
  EXPECT_EQ(result.exposed_s, 0.0);
}

TEST(DdpStep, RefusesWhatCannotBe) {
  const auto refuses = [](auto&& spoil) {
    DdpStep step = even_step(2, 1e-3, {});
    spoil(step);
    EXPECT_THROW(simulate(step), std::invalid_argument);
  };
  refuses([](DdpStep& step) { step.data_s = -1.0; });
  refuses([](DdpStep& step) { step.slowdown = 0.9; });
  refuses([](DdpStep& step) { step.lanes = 0; });
  refuses([](DdpStep& step) { step.accumulation = 0; });
  refuses([](DdpStep& step) { step.buckets[1].cost.latency_s = -1e-9; });
}

std::vector<Gradient> floats(const std::vector<std::int64_t>& numels) {
  std::vector<Gradient> gradients;
  for (const std::int64_t numel : numels) gradients.push_back({numel * 4, 0, 0});
  return gradients;
}

// Expected lists below are what torch.distributed._compute_bucket_assignment_by_size of PyTorch 2.11 returns for
// tensors of these sizes.
const std::vector<std::int64_t> numels = {100, 300 * 1024, 10, 7 * mib, 3 * mib / 4, 2 * mib, 100, 100};

TEST(BucketRule, ClosesAtOrOverTheLimitInReadyOrder) {
  const std::vector<std::int64_t> backwards = {7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(rebuilt_buckets(floats(numels), backwards, {}), (Buckets{{7, 6, 5}, {4, 3}, {2, 1, 0}}));
}

TEST(BucketRule, UnusedParametersKeepRegistrationOrderReversed) {
  // Computed as {0, 1}, {2, 3}, {4 … 7}; DDP launches them from the last to the first.
  EXPECT_EQ(first_iteration_buckets(floats(numels), {}, true), (Buckets{{4, 5, 6, 7}, {2, 3}, {0, 1}}));
}

TEST(BucketRule, TheFirstIterationIsOneBucketADtype) {
  EXPECT_EQ(first_iteration_buckets(floats(numels), {}, false).size(), 1u);
  std::vector<Gradient> mixed = floats({10, 10, 10});
  mixed[1].dtype = 1;
  EXPECT_EQ(first_iteration_buckets(mixed, {}, false), (Buckets{{1}, {0, 2}}));
}

TEST(BucketRule, DtypesFillSeparatelyAndEachHasItsFirstLimit) {
  // fp32 10, fp64 10, fp32 300 Ki, fp64 200 Ki, fp32 5, fp64 5: the large ones close the first bucket of each dtype.
  const std::vector<Gradient> mixed = {{40, 0, 0},         {80, 1, 0}, {300 * 4096, 0, 0},
                                       {200 * 8192, 1, 0}, {20, 0, 0}, {40, 1, 0}};
  const std::vector<std::int64_t> order = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(assign_buckets(mixed, order, {}), (Buckets{{0, 2}, {1, 3}, {4}, {5}}));
  std::vector<Gradient> devices = floats({10, 10});
  devices[1].device = 1;
  EXPECT_EQ(assign_buckets(devices, std::vector<std::int64_t>{0, 1}, {}).size(), 2u);
}

TEST(BucketRule, AnExplicitCapIsAlsoTheFirstLimit) {
  EXPECT_EQ(BucketLimits::from_cap({}).first_bytes, mib);
  EXPECT_EQ(BucketLimits::from_cap({}).later_bytes, 25 * mib);
  EXPECT_EQ(BucketLimits::from_cap(25.0).first_bytes, 25 * mib);
  EXPECT_EQ(BucketLimits::from_cap(0.5).later_bytes, mib / 2);
  EXPECT_THROW(BucketLimits::from_cap(0.0), std::invalid_argument);
}

TEST(BucketRule, EveryGradientLandsInExactlyOneBucket) {
  std::vector<Gradient> gradients;
  for (int i = 0; i < 500; ++i) gradients.push_back({(i * 7919 % 1000 + 1) * 1024, i % 3, i % 2});
  std::vector<std::int64_t> order(gradients.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::vector<int> seen(gradients.size(), 0);
  std::int64_t bytes = 0;
  for (const auto& bucket : rebuilt_buckets(gradients, order, {})) {
    bytes += bucket_bytes(gradients, bucket);
    for (const std::int64_t member : bucket) ++seen[static_cast<std::size_t>(member)];
  }
  EXPECT_EQ(seen, std::vector<int>(gradients.size(), 1));
  EXPECT_EQ(bytes, bucket_bytes(gradients, order));
}

TEST(DataParallel, CopiesGoThroughTheRoot) {
  // P = 1e8 bytes at 10 GB/s, 4 replicas: 3 x 10 ms out, 3 x 20 ms back; device 0's own at a fifth: 0.2 more of each.
  DataParallelStep step;
  step.replicas = 4;
  step.parameter_bytes = 1e8;
  step.input_bytes = 1e6;
  step.output_bytes = 1e5;
  step.root_s_per_byte = 1e-10;
  step.to_root_s_per_byte = 2e-10;
  step.own_copy = 0.2;
  step.data_s = 1e-3;
  step.forward_s = 20e-3;
  step.backward_s = 40e-3;
  step.optimizer_s = 5e-3;
  const DataParallelResult result = simulate(step);
  EXPECT_NEAR(result.replicate_s, 32e-3, 1e-12);
  EXPECT_NEAR(result.reduce_s, 64e-3, 1e-12);
  EXPECT_NEAR(result.scatter_s, 0.32e-3, 1e-12);
  EXPECT_NEAR(result.gather_s, 0.064e-3, 1e-12);
  EXPECT_NEAR(result.step_s, 66e-3 + 96.384e-3, 1e-12);
  EXPECT_NEAR(result.compute_s + result.copies_s + step.data_s, result.step_s, 1e-12);
  step.copy_overhead_s = 1e-3;
  EXPECT_NEAR(simulate(step).overhead_s, 16e-3, 1e-12);
  step.replicas = 1;
  EXPECT_NEAR(simulate(step).step_s, 66e-3, 1e-12);
  EXPECT_EQ(simulate(step).copies_s, 0.0);
}

}  // namespace
}  // namespace ddpprof::step
