// Shares of busy time, from events with chosen times.
#include "analysis/timeline/utilisation.hpp"

#include <gtest/gtest.h>

namespace ddpprof::timeline {
namespace {

Timeline one_rank(TrackKind kind, const std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>>& rows) {
  Timeline all;
  all.begin_ns = 1000;
  all.end_ns = 2000;
  Rank rank;
  rank.tracks = 1;
  all.ranks.push_back(rank);
  all.tracks.push_back({kind, 0, "stream 7", 0, static_cast<std::uint32_t>(rows.size())});
  const std::uint32_t name = all.names.intern("gemm", Category::kernel);
  for (const auto& events : rows) {
    Row row;
    for (const auto& [start_ns, duration_ns] : events) {
      row.start_ns.push_back(start_ns);
      row.duration_ns.push_back(duration_ns);
      row.name.push_back(name);
      row.argument.push_back(no_argument);
    }
    make_levels(row);
    all.rows.push_back(std::move(row));
  }
  return all;
}

TEST(Utilisation, KernelsCountInTheirParts) {
  const Timeline all = one_rank(TrackKind::stream, {{{1000, 100}, {1150, 200}, {1900, 50}}});
  const Utilisation made = utilisation(all, 10);
  EXPECT_TRUE(made.of_devices);
  const double expected[] = {1.0, 0.5, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5};
  ASSERT_EQ(made.shares.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(made.shares[i].value(), expected[i], 1e-12) << i;
}

TEST(Utilisation, TwoStreamsAreNotMoreThanBusy) {
  const Timeline all = one_rank(TrackKind::stream, {{{1000, 500}}, {{1200, 300}, {1700, 100}}});
  const Utilisation made = utilisation(all, 10);
  EXPECT_NEAR(made.shares[3].value(), 1.0, 1e-9);
  EXPECT_NEAR(made.shares[7].value(), 1.0, 1e-9);
  EXPECT_NEAR(made.shares[6].value(), 0.0, 1e-9);
}

// Many short kernels are read from a coarser level: the sum is the same.
TEST(Utilisation, FoldedEventsKeepTheirTime) {
  std::vector<std::pair<std::int64_t, std::int64_t>> events;
  Timeline all = one_rank(TrackKind::stream, {{}});
  all.begin_ns = 0;
  all.end_ns = 100'000'000;
  for (std::int64_t i = 0; i < 100'000; ++i) events.emplace_back(i * 1000, i < 50'000 ? 300 : 700);
  Timeline many = one_rank(TrackKind::stream, {events});
  many.begin_ns = all.begin_ns;
  many.end_ns = all.end_ns;
  ASSERT_NE(level_for(many.rows.front(), 1e6), nullptr);
  const Utilisation made = utilisation(many, 100);
  for (std::size_t i = 1; i < 99; ++i)
    if (i < 49 || i > 50) {
      EXPECT_NEAR(made.shares[i].value(), i < 50 ? 0.3 : 0.7, 0.02) << i;
    }
}

TEST(Utilisation, WithoutStreamsComputeCountsWhereItIsKnown) {
  Timeline all = one_rank(TrackKind::steps, {{}});
  all.ranks.front().time.known = {{1200, 1600}};
  all.ranks.front().time.compute = {{1200, 1250}, {1300, 1500}};
  const Utilisation made = utilisation(all, 10);
  EXPECT_FALSE(made.of_devices);
  EXPECT_FALSE(made.shares[1]) << "not known";
  EXPECT_NEAR(made.shares[2].value(), 0.5, 1e-9);
  EXPECT_NEAR(made.shares[3].value(), 1.0, 1e-9);
  EXPECT_NEAR(made.shares[5].value(), 0.0, 1e-9);
  EXPECT_FALSE(made.shares[6]);
}

TEST(Utilisation, AnEmptyTimelineHasNoShares) {
  const Utilisation made = utilisation(Timeline{}, 4);
  ASSERT_EQ(made.shares.size(), 4U);
  for (const auto& share : made.shares) EXPECT_FALSE(share);
}

}  // namespace
}  // namespace ddpprof::timeline
