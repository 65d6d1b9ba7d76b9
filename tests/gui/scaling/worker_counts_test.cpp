// The N at which a curve is drawn, and the order of simulation.
#include "gui/models/scaling/worker_counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace ddpprof::gui::whatif {
namespace {

using testing::Contains;
using Counts = std::vector<std::int64_t>;

TEST(CurveCounts, AreAtMost64WithEverythingThatMatters) {
  const Counts measured = {1, 3, 12};
  for (const std::int64_t limit : {2, 8, 64, 100, 256, 1000, 4096}) {
    for (const std::int64_t chosen : {1, 5, 63, 777, 4095}) {
      const Counts counts = curve_counts(limit, measured, chosen);
      EXPECT_LE(counts.size(), most_counts);
      EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
      EXPECT_EQ(std::adjacent_find(counts.begin(), counts.end()), counts.end());
      EXPECT_EQ(counts.front(), 1);
      EXPECT_EQ(counts.back(), limit);
      for (std::int64_t n = 1; n <= limit; n *= 2) EXPECT_THAT(counts, Contains(n));
      for (const std::int64_t n : measured)
        if (n <= limit) {
          EXPECT_THAT(counts, Contains(n));
        }
      if (chosen <= limit) {
        EXPECT_THAT(counts, Contains(chosen));
      }
    }
  }
}

TEST(CurveCounts, AreEveryNWhereThereAreFew) {
  Counts all;
  for (std::int64_t n = 1; n <= 64; ++n) all.push_back(n);
  EXPECT_EQ(curve_counts(32, {}, 8), Counts(all.begin(), all.begin() + 32));
  EXPECT_GE(curve_counts(64, {}, 64).size(), 63U);
}

TEST(CurveCounts, StayWhereTheyAreWhenAnotherNIsChosen) {
  const Counts a = curve_counts(4096, {}, 777), b = curve_counts(4096, {}, 779);
  Counts both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  EXPECT_GE(both.size() + 1, a.size());
}

TEST(CurveCounts, LeaveNoGapWiderThanAFifth) {
  const Counts counts = curve_counts(4096, {}, 64);
  for (std::size_t i = 1; i < counts.size(); ++i)
    EXPECT_LE(static_cast<double>(counts[i]),
              std::max(1.2 * static_cast<double>(counts[i - 1]), static_cast<double>(counts[i - 1] + 2)));
}

TEST(CoarseToFine, IsEachOnceWithTheChosenAndTheEndsFirst) {
  const Counts counts = curve_counts(4096, {}, 100);
  Counts order = coarse_to_fine(counts, 100);
  EXPECT_EQ(Counts(order.begin(), order.begin() + 3), (Counts{100, 1, 4096}));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, counts);
}

TEST(CoarseToFine, AnyBeginningSpansTheWhole) {
  const Counts counts = curve_counts(64, {}, 8);
  const Counts order = coarse_to_fine(counts, 8);
  // Indices in the list: after 2 + 2^k entries no gap is longer than after k halvings.
  for (const std::size_t taken : {5U, 9U, 17U}) {
    std::vector<std::ptrdiff_t> places;
    for (std::size_t i = 0; i < taken; ++i)
      places.push_back(std::find(counts.begin(), counts.end(), order[i]) - counts.begin());
    std::sort(places.begin(), places.end());
    std::ptrdiff_t widest = 0;
    for (std::size_t i = 1; i < places.size(); ++i) widest = std::max(widest, places[i] - places[i - 1]);
    EXPECT_LE(widest, std::ssize(counts) / (taken < 9 ? 2 : taken < 17 ? 4 : 8) + 2) << taken;
  }
}

TEST(TableCounts, ArePowersAndMeasuredAndChosen) {
  EXPECT_EQ(table_counts(64, Counts{1, 3}, 48), (Counts{1, 2, 3, 4, 8, 16, 32, 48, 64}));
}

}  // namespace
}  // namespace ddpprof::gui::whatif
