// All-reduce costs against their formulas, worked by hand in each test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/collective/all_reduce.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::collective {
namespace {

constexpr double mib = 1024.0 * 1024.0;

TEST(Ring, SplitsIntoItsThreeTerms) {
  // N = 4, S = 8e6: 6 steps of latency; 6/4 S beta; 3/4 S gamma.
  const Cost cost = ring(4, 8e6, {10e-6, 1e-9, 0.25e-9});
  EXPECT_DOUBLE_EQ(cost.latency_s, 60e-6);
  EXPECT_DOUBLE_EQ(cost.bandwidth_s, 12e-3);
  EXPECT_DOUBLE_EQ(cost.reduction_s, 1.5e-3);
  EXPECT_DOUBLE_EQ(cost.total_s(), 60e-6 + 12e-3 + 1.5e-3);
}

TEST(Ring, OneWorkerCommunicatesNothing) {
  const Link link{1.0, 1.0, 1.0};
  EXPECT_EQ(ring(1, 1e6, link).total_s(), 0.0);
  EXPECT_EQ(gloo_segmented_ring(1, 1000000, link).total_s(), 0.0);
}

TEST(GlooSegmentedRing, SmallMessagePaysFourNMinusOneLatencies) {
  // 4 bytes: 2N segments, one element each, so K = 2(N-1) steps a phase, 4(N-1) in all.
  for (const int workers : {2, 4, 8, 64}) {
    const Cost cost = gloo_segmented_ring(workers, 4, {1e-3, 0.0, 0.0});
    EXPECT_DOUBLE_EQ(cost.latency_s, 4.0 * (workers - 1) * 1e-3) << workers;
  }
}

TEST(GlooSegmentedRing, LargeMessageIsCutIntoMebibytes) {
  // 25 MiB over 4: 25 segments, rounded up to 28; a segment is 936,228.57 bytes, 936,232 in whole floats; K = 21.
  const Cost cost = gloo_segmented_ring(4, 25 * 1024 * 1024, {1e-3, 1e-9, 0.0});
  EXPECT_DOUBLE_EQ(cost.latency_s, (2 + 2 * 20 * std::exp(-0.936232 / 2.0)) * 1e-3);
  EXPECT_DOUBLE_EQ(cost.bandwidth_s, 2 * 21 * 936232 * 1e-9);
}

// How long `count` transfers take beyond their own time when two are in flight, each of which waits before it may use
// the link: played out, the waits drawn.
double played_waits_s(std::int64_t count, double wait_s, double transfer_s, stats::Random& random) {
  const auto wait = [&] { return -wait_s * std::log(1.0 - random.uniform()); };
  double ready_s[2] = {wait(), wait()}, free_s = 0.0;
  for (std::int64_t done = 0; done < count; ++done) {
    double& next_s = ready_s[0] <= ready_s[1] ? ready_s[0] : ready_s[1];
    free_s = std::max(free_s, next_s) + transfer_s;
    next_s = free_s + wait();
  }
  return free_s - static_cast<double>(count) * transfer_s;
}

TEST(GlooSegmentedRing, NoPhaseIsShorterThanItsReductionsAndTransfers) {
  for (const double alpha : {0.0, 1e-4, 1e-3, 1e-2}) {
    const Link link{alpha, 5e-9, 6e-9};
    const Hops hops = gloo_segmented_ring_hops(8, 64 << 20);
    const double least_s = 0.5 * hops.count * hops.bytes * (6e-9 + 5e-9);  // reduce-scatter, all-gather
    EXPECT_GE(gloo_segmented_ring(8, 64 << 20, link).total_s(), least_s) << alpha;
  }
}

TEST(GlooSegmentedRing, LatencyHidesBehindTheOtherSegment) {
  stats::Random random(3);
  const std::int64_t bytes = 8 << 20, segments = 32;  // N = 16
  for (const double alpha : {1e-4, 1e-3, 1e-2}) {
    const Link link{alpha, 4e-9, 0.0};
    const double segment_s = static_cast<double>(bytes / segments) * 4e-9;  // 1.05 ms
    double played_s = 0.0;
    constexpr int runs = 4000;
    for (int run = 0; run < runs; ++run)
      for (int phase = 0; phase < 2; ++phase) played_s += played_waits_s(30, 2.0 * alpha, segment_s, random) / runs;
    EXPECT_NEAR(gloo_segmented_ring(16, bytes, link).latency_s / played_s, 1.0, 0.02) << alpha;
  }
}

TEST(GlooSegmentedRing, ReductionHidesBehindTransferUntilItIsSlower) {
  // 8 MiB over 2: 8 segments of 1 MiB, K = 4. Reduction at half the transfer's cost: only the last one shows.
  const Link fast{0.0, 2e-9, 1e-9};
  EXPECT_DOUBLE_EQ(gloo_segmented_ring(2, 8 << 20, fast).reduction_s, mib * 1e-9);
  // At twice the transfer's: each of the 4 steps waits for the difference too.
  const Link slow{0.0, 1e-9, 2e-9};
  EXPECT_NEAR(gloo_segmented_ring(2, 8 << 20, slow).reduction_s, 4 * mib * 1e-9 + mib * 2e-9, 1e-15);
}

TEST(AllReduce, RefusesWhatCannotBe) {
  EXPECT_THROW(ring(0, 1.0, {}), std::invalid_argument);
  EXPECT_THROW(ring(2, -1.0, {}), std::invalid_argument);
  EXPECT_THROW(gloo_segmented_ring(2, 8, {}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::collective
