// Predictions of collectives from made sweeps whose law is known.
#include "analysis/fit/nccl_tests/collective_series.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/fit/not_supported.hpp"

namespace ddpprof::fit {
namespace {

// latency and bytes over a bandwidth in bytes/s, 1 MiB to 1 GiB.
CollectiveRun made(const std::string& op, std::int64_t ranks, std::int64_t hosts, double latency_s, double bandwidth,
                   double moved) {
  CollectiveRun run{op, ranks, hosts, {}};
  for (double bytes = 1 << 20; bytes <= (1 << 30); bytes *= 4)
    run.times.push_back({bytes, latency_s + bytes * moved / bandwidth});
  return run;
}
double part(std::int64_t ranks) { return static_cast<double>(ranks - 1) / static_cast<double>(ranks); }

void expect_time(const CollectiveTime& time, double expected, double relative) {
  EXPECT_NEAR(time.time_s / expected, 1.0, relative);
  EXPECT_LT(time.low_s, time.time_s);
  EXPECT_GT(time.high_s, time.time_s);
}

// 2(N-1)/N S over one bandwidth; a ring's latency grows with N - 1 or, as a tree, less: the square root between.
TEST(CollectiveSeries, OnOneHostTheBandwidthStays) {
  const CollectiveSeries series("all_reduce", {made("all_reduce", 2, 1, 10e-6, 200e9, 2 * part(2)),
                                               made("all_reduce", 4, 1, 30e-6, 200e9, 2 * part(4))});
  for (const double bytes : series.sizes(8, 1))
    expect_time(series.predict(bytes, 8, 1), 30e-6 * std::sqrt(7.0 / 3.0) + bytes * 2 * part(8) / 200e9, 1e-9);
  const double gib = 1 << 30;
  expect_time(series.predict(gib, 4, 1), 30e-6 + gib * 2 * part(4) / 200e9, 1e-9);
  EXPECT_GT(series.predict(gib, 8, 1, 0.99).high_s, series.predict(gib, 8, 1, 0.9).high_s);
  EXPECT_THROW(series.predict(gib, 16, 2), NotSupported) << "no links between hosts were measured";
}

// Hosts of the same ranks: a reduce-scatter moves (N-1)/N through the same cards, and a ring's latency grows with N
// - 1.
TEST(CollectiveSeries, MoreHostsOfTheSameRanksHaveTheSameLinks) {
  const CollectiveSeries series("reduce_scatter", {made("reduce_scatter", 16, 2, 40e-6, 300e9, part(16))});
  for (const double bytes : series.sizes(64, 8))
    expect_time(series.predict(bytes, 64, 8), 40e-6 * 63.0 / 15.0 + bytes * part(64) / 300e9, 1e-9);
  EXPECT_THROW(series.predict(1e6, 8, 1), NotSupported) << "one host was not measured";
}

// Each rank has its own card: twice the ranks of a host have twice the bandwidth, if the links inside allow it.
TEST(CollectiveSeries, MoreRanksOfAHostUseMoreCardsUpToTheLinksInside) {
  std::vector<CollectiveRun> runs = {made("all_gather", 8, 8, 0.0, 50e9, part(8)),
                                     made("all_gather", 16, 8, 0.0, 100e9, part(16)),
                                     made("all_gather", 32, 8, 0.0, 200e9, part(32))};
  const double gib = 1 << 30;
  const CollectiveSeries open("all_gather", runs);
  expect_time(open.predict(gib, 64, 8), gib * part(64) / 400e9, 1e-9);
  EXPECT_GT(open.predict(gib, 64, 8).high_s, gib * part(64) / 200e9) << "the cards may be used up";
  runs.push_back(made("all_gather", 8, 1, 0.0, 400e9, part(8)));
  const CollectiveSeries closed("all_gather", runs);
  const double together = 400e9 * std::pow(2.0, -1.0 / 3.35);
  expect_time(closed.predict(gib, 64, 8), gib * part(64) / together, 1e-9);
}

// Shared cards: the time does not change with the ranks of a host.
TEST(CollectiveSeries, SharedCardsStayShared) {
  const CollectiveSeries series("all_reduce", {made("all_reduce", 8, 8, 0.0, 50e9, 2 * part(8)),
                                               made("all_reduce", 16, 8, 0.0, 50e9, 2 * part(16))});
  const double gib = 1 << 30;
  expect_time(series.predict(gib, 32, 8), gib * 2 * part(32) / 50e9, 1e-9);
}

// A rank of an all-to-all sends (N-g)/N of its vector to other hosts, g ranks over the cards of one host.
TEST(CollectiveSeries, AnAllToAllFollowsTheBytesThatLeaveAHost) {
  const auto moved = [](double ranks, double hosts) { return ranks / hosts * (ranks - ranks / hosts) / ranks; };
  const CollectiveSeries series("all_to_all", {made("all_to_all", 8, 8, 0.0, 50e9, moved(8, 8)),
                                               made("all_to_all", 16, 8, 0.0, 100e9, moved(16, 8))});
  const double gib = 1 << 30;
  expect_time(series.predict(gib, 32, 8), gib * moved(32, 8) / 200e9, 1e-9);
}

// Two runs of the same ranks, as a sweep of NCCL_ALGO makes them: neither is preferred, and the interval contains both.
TEST(CollectiveSeries, RunsOfEqualRanksAreBothInTheInterval) {
  const CollectiveRun fast = made("all_reduce", 8, 1, 20e-6, 300e9, 2 * part(8)),
                      slow = made("all_reduce", 8, 1, 20e-6, 100e9, 2 * part(8));
  const CollectiveSeries both("all_reduce", {fast, slow}), turned("all_reduce", {slow, fast}),
      repeated("all_reduce", {fast, fast});
  for (std::size_t i = 0; i < fast.times.size(); ++i) {
    const double bytes = fast.times[i].bytes;
    const CollectiveTime time = both.predict(bytes, 8, 1);
    EXPECT_NEAR(time.time_s / std::sqrt(fast.times[i].time_s * slow.times[i].time_s), 1.0, 1e-9) << bytes;
    EXPECT_LT(time.low_s, fast.times[i].time_s) << bytes;
    EXPECT_GT(time.high_s, slow.times[i].time_s) << bytes;
    EXPECT_DOUBLE_EQ(turned.predict(bytes, 8, 1).time_s, time.time_s);
    EXPECT_LT(repeated.predict(bytes, 8, 1).high_s, 1.2 * fast.times[i].time_s) << bytes;
  }
  EXPECT_NE(both.warning(8, 1).find("2 runs of all_reduce with 8 ranks on one host differ by up to"),
            std::string::npos);
  EXPECT_EQ(both.warnings().size(), 1U);
  EXPECT_EQ(repeated.warning(8, 1), "");
}

TEST(CollectiveSeries, RejectsImpossibleQuestions) {
  const CollectiveSeries series("all_reduce", {made("all_reduce", 2, 1, 1e-5, 1e11, 1.0)});
  EXPECT_THROW(series.predict(1e6, 1, 1), std::invalid_argument);
  EXPECT_THROW(series.predict(0.0, 4, 1), std::invalid_argument);
  EXPECT_THROW(series.predict(1e6, 2, 3), std::invalid_argument);
  EXPECT_THROW(CollectiveSeries("all_gather", {made("all_reduce", 2, 1, 1e-5, 1e11, 1.0)}), NotSupported);
}

}  // namespace
}  // namespace ddpprof::fit
