#include "analysis/ingest/intervals.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace ddpprof::ingest {
namespace {

TEST(Intervals, ClosedForms) {
  EXPECT_EQ(unite({{5, 9}, {1, 3}, {3, 4}, {2, 2}, {8, 6}}),
            (IntervalSet{{1, 4}, {5, 9}}));  // touching intervals are joined
  EXPECT_EQ(unite(IntervalSet{}, IntervalSet{}), IntervalSet{});
  EXPECT_EQ(intersect({{0, 10}, {20, 30}}, {{5, 25}}), (IntervalSet{{5, 10}, {20, 25}}));
  EXPECT_EQ(intersect({{0, 10}}, {{10, 20}}), IntervalSet{});  // half open
  EXPECT_EQ(subtract({{0, 10}, {20, 30}}, {{2, 4}, {8, 22}}), (IntervalSet{{0, 2}, {4, 8}, {22, 30}}));
  EXPECT_EQ(subtract({{0, 10}}, {{0, 10}}), IntervalSet{});
  EXPECT_EQ(clip({{0, 10}, {20, 30}, {40, 50}}, {5, 45}), (IntervalSet{{5, 10}, {20, 30}, {40, 45}}));
  EXPECT_EQ(total_ns({{0, 10}, {20, 35}}), 25);
}

// Compares each operation on random sets with the same operation on bitmaps of 256 slots.
TEST(Intervals, AgreeWithBitmaps) {
  constexpr int slots = 256;
  using Bits = std::bitset<slots>;
  const auto bits = [](const std::vector<Interval>& set) {
    Bits out;
    for (const Interval& interval : set)
      for (std::int64_t t = interval.start_ns; t < interval.end_ns; ++t) out.set(static_cast<std::size_t>(t));
    return out;
  };
  const auto canonical = [](const IntervalSet& set) {
    for (std::size_t i = 0; i < set.size(); ++i)
      if (set[i].end_ns <= set[i].start_ns || (i > 0 && set[i].start_ns <= set[i - 1].end_ns)) return false;
    return true;
  };
  std::mt19937 random(7);
  const auto any = [&] {
    std::vector<Interval> out(random() % 12);
    for (Interval& interval : out) {
      interval.start_ns = random() % slots;
      interval.end_ns = std::min<std::int64_t>(slots, interval.start_ns + random() % 40);
    }
    return out;
  };
  for (int round = 0; round < 20000; ++round) {
    const auto raw_a = any(), raw_b = any();
    const IntervalSet a = unite(raw_a), b = unite(raw_b);
    const Bits bits_a = bits(raw_a), bits_b = bits(raw_b);
    const Interval window{static_cast<std::int64_t>(random() % slots), static_cast<std::int64_t>(random() % slots)};
    const struct {
      IntervalSet set;
      Bits expected;
    } cases[] = {{a, bits_a},
                 {unite(a, b), bits_a | bits_b},
                 {intersect(a, b), bits_a & bits_b},
                 {subtract(a, b), bits_a & ~bits_b},
                 {clip(a, window), bits_a & bits({window})}};
    for (const auto& [set, expected] : cases) {
      ASSERT_EQ(bits(set), expected) << round;
      ASSERT_TRUE(canonical(set)) << round;
      ASSERT_EQ(total_ns(set), static_cast<std::int64_t>(expected.count())) << round;
    }
  }
}

}  // namespace
}  // namespace ddpprof::ingest
