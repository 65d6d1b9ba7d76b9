// Every hop of an all-reduce against the closed forms, and where those do not hold.
#include "tests/simulator/reference/hops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "simulator/collective/all_reduce.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::hops {
namespace {

using collective::Link;

constexpr std::int64_t mib = 1 << 20;

TEST(RingHops, ReproduceThePublishedClosedForm) {
  // 4 x (5 ms backward, 25 MiB all-reduce overlapped) at 10 GB/s and 1.5 us a hop, chunks of whole bytes, first in
  // first out. SimGrid gives the same figures.
  const std::vector<std::pair<std::size_t, double>> published = {
      {8, 24.608520e-3}, {64, 26.399840e-3}, {256, 28.949600e-3}, {512, 32.062560e-3}, {1024, 38.227040e-3}};
  for (const auto& [ranks, expected_s] : published) {
    Ring ring(std::vector<Link>(ranks, {1.5e-6, 1e-10, 0.0}));
    const auto chunk_bytes = static_cast<double>(25 * mib / static_cast<std::int64_t>(ranks));
    std::vector<double> free_s(ranks, 0.0);
    for (int bucket = 1; bucket <= 4; ++bucket) {
      for (double& time : free_s) time = std::max(time, bucket * 5e-3);
      ring.all_reduce(chunk_bytes, free_s);
    }
    const auto [first, last] = std::minmax_element(free_s.begin(), free_s.end());
    EXPECT_NEAR(*last, expected_s, 0.5e-9) << ranks;
    EXPECT_NEAR(*first, expected_s, 0.5e-9) << ranks;
  }
}

TEST(RingHops, EqualLinksGiveTheRingFormulaWithReduction) {
  for (const std::size_t ranks : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{64}}) {
    const Link link{3e-6, 2e-10, 5e-11};
    std::vector<double> times(ranks, 0.25);
    Ring(std::vector<Link>(ranks, link)).all_reduce(1e6 / static_cast<double>(ranks), times);
    const double expected = 0.25 + collective::ring(static_cast<std::int64_t>(ranks), 1e6, link).total_s();
    for (const double time : times) EXPECT_NEAR(time, expected, 1e-12) << ranks;
  }
}

TEST(RingHops, OneSlowLinkSetsThePaceOfAll) {
  // A ring moves at the speed of its slowest link: after the first turn every hop waits for it.
  std::vector<Link> links(16, {1e-6, 1e-10, 0.0});
  links[5].bandwidth_s_per_byte = 1e-9;
  std::vector<double> times(16, 0.0);
  Ring(links).all_reduce(1e6, times);
  const double slow_hop = 1e-3;
  EXPECT_NEAR(*std::max_element(times.begin(), times.end()), 30 * slow_hop, 2 * 16 * 1.01e-4);
  EXPECT_GE(*std::max_element(times.begin(), times.end()), 30 * slow_hop - 1e-12);
}

TEST(RingHops, OneLateRankDelaysTheOthersByLessThanItself) {
  // Its right neighbours only need its data after as many hops as they are away from it.
  constexpr std::size_t ranks = 8;
  const Link link{1e-3, 0.0, 0.0};
  std::vector<double> times(ranks, 0.0);
  times[0] = 100e-3;
  Ring(std::vector<Link>(ranks, link)).all_reduce(1.0, times);
  // From its arrival on its own data has to go all the way round, and at most both rounds are still to do.
  EXPECT_GE(times[0], 107e-3 - 1e-12);
  EXPECT_LE(times[0], 114e-3 + 1e-12);
  for (const double time : times) {
    EXPECT_GT(time, 100e-3);
    EXPECT_LE(time, 114e-3 + 1e-12);
  }
  // A rank that is late by less than the critical number of hops delays no rank by more than its lateness.
  std::vector<double> slight(ranks, 0.0);
  slight[3] = 0.4e-3;
  Ring(std::vector<Link>(ranks, link)).all_reduce(1.0, slight);
  EXPECT_NEAR(*std::max_element(slight.begin(), slight.end()), 14.4e-3, 1e-12);
}

TEST(RingHops, BothHalvesMakeTheWhole) {
  stats::Random random(7);
  std::vector<Link> links(12);
  std::vector<double> whole(12);
  for (Link& link : links) link = {1e-5 * random.uniform(), 1e-9 * random.uniform(), 1e-10 * random.uniform()};
  for (double& time : whole) time = random.uniform() * 1e-3;
  std::vector<double> halves = whole;
  Ring ring(links);
  ring.all_reduce(1e5, whole);
  ring.reduce_scatter(1e5, halves);
  ring.all_gather(1e5, halves);
  EXPECT_EQ(whole, halves);
}

TEST(Hops, RefuseWhatCannotBe) {
  std::vector<double> three(3, 0.0);
  EXPECT_THROW(Ring(std::vector<Link>{}), std::invalid_argument);
  EXPECT_THROW(Ring(std::vector<Link>{{-1.0, 0.0, 0.0}}), std::invalid_argument);
  EXPECT_THROW(Ring(std::vector<Link>(2)).all_reduce(1.0, three), std::invalid_argument);
  EXPECT_THROW(Ring(std::vector<Link>(3)).all_reduce(-1.0, three), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::hops
