// Levels: their sums equal those of the events, and the number of blocks in a view is bounded.
#include <gtest/gtest.h>

#include <random>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {
namespace {

Row row_of(const std::vector<Event>& events) {
  Row row;
  for (const Event& event : events) {
    row.start_ns.push_back(event.start_ns);
    row.duration_ns.push_back(event.duration_ns);
    row.name.push_back(event.name);
    row.argument.push_back(event.argument);
  }
  make_levels(row);
  return row;
}

TEST(Levels, FewEventsNeedNone) {
  EXPECT_TRUE(row_of({{0, 10, 0}, {20, 10, 0}}).levels.empty());
  EXPECT_TRUE(row_of({}).levels.empty());
}

TEST(Levels, ShortEventsOfOneCellFoldIntoOneBlock) {
  // 1024 events of 10 ns, 16 ns apart: 16 in each cell of 256 ns.
  std::vector<Event> events;
  for (std::int64_t i = 0; i < 1024; ++i) events.push_back({i * 16, i == 5 ? 12 : 10, static_cast<std::uint32_t>(i)});
  const Row row = row_of(events);
  ASSERT_FALSE(row.levels.empty());
  const Level& level = row.levels.front();
  EXPECT_EQ(level.resolution_ns, 256);
  ASSERT_EQ(level.blocks.size(), 64U);
  EXPECT_EQ(level.blocks[0].start_ns, 0);
  EXPECT_EQ(level.blocks[0].end_ns, 15 * 16 + 10);
  EXPECT_EQ(level.blocks[0].busy_ns, 162);
  EXPECT_EQ(level.blocks[0].longest, 5U);
  EXPECT_EQ(count_of(row, level, 0), 16U);
  EXPECT_EQ(count_of(row, level, 63), 16U);
}

TEST(Levels, ALongEventStaysAlone) {
  std::vector<Event> events;
  for (std::int64_t i = 0; i < 512; ++i) events.push_back({i * 4, 2, 0});
  events.push_back({2048, 5000, 1});
  for (std::int64_t i = 0; i < 512; ++i) events.push_back({7100 + i * 4, 2, 0});
  const Row row = row_of(events);
  ASSERT_FALSE(row.levels.empty());
  const Level& level = row.levels.front();
  std::size_t alone = 0;
  for (std::size_t i = 0; i < level.blocks.size(); ++i)
    if (level.blocks[i].end_ns - level.blocks[i].start_ns == 5000) {
      EXPECT_EQ(count_of(row, level, i), 1U);
      ++alone;
    }
  EXPECT_EQ(alone, 1U);
}

TEST(Levels, EveryLevelHoldsAllEventsAndAQuarterOfTheBlocksBelow) {
  std::mt19937_64 random(1);
  std::vector<Event> events;
  std::int64_t at_ns = 0, busy_ns = 0;
  for (int i = 0; i < 300'000; ++i) {
    const auto duration_ns = static_cast<std::int64_t>(random() % (i % 1000 == 0 ? 200'000 : 300));
    events.push_back({at_ns, duration_ns, 0});
    busy_ns += duration_ns;
    at_ns += duration_ns + static_cast<std::int64_t>(random() % 500);
  }
  const Row row = row_of(events);
  ASSERT_GE(row.levels.size(), 3U);
  std::size_t below = row.size(), all = 0;
  for (const Level& level : row.levels) {
    EXPECT_LE(level.blocks.size() * 4, below) << level.resolution_ns;
    below = level.blocks.size();
    all += below;
    std::uint64_t count = 0;
    std::int64_t busy = 0, last_end_ns = -1;
    std::int64_t last_cell = -1;
    for (std::size_t i = 0; i < level.blocks.size(); ++i) {
      const Block& block = level.blocks[i];
      count += count_of(row, level, i);
      busy += block.busy_ns;
      EXPECT_GE(block.start_ns, last_end_ns);
      last_end_ns = block.end_ns;
      // At most one block per cell, and one that is too long to be joined.
      const std::int64_t cell = block.start_ns / level.resolution_ns;
      if (count_of(row, level, i) > 1) {
        EXPECT_GT(cell, last_cell);
        last_cell = cell;
      }
      EXPECT_GE(row.duration_ns[block.longest] * count_of(row, level, i), block.busy_ns);
    }
    EXPECT_EQ(count, row.size());
    EXPECT_EQ(busy, busy_ns);
  }
  EXPECT_LE(all * 3, row.size());
}

TEST(Levels, TheLevelFitsTheZoom) {
  std::vector<Event> events;
  for (std::int64_t i = 0; i < (1 << 17); ++i) events.push_back({i * 16, 10, 0});
  const Row row = row_of(events);
  EXPECT_EQ(level_for(row, 100.0), nullptr) << "events are distinguishable";
  ASSERT_NE(level_for(row, 256.0), nullptr);
  EXPECT_EQ(level_for(row, 1000.0)->resolution_ns, 256);
  EXPECT_EQ(level_for(row, 1024.0)->resolution_ns, 1024);
  EXPECT_EQ(level_for(row, 1e12), &row.levels.back());
  const Level& level = row.levels.front();
  EXPECT_EQ(first_touching(level, 0), 0U);
  EXPECT_EQ(first_touching(level, 256), 1U);
  EXPECT_EQ(first_touching(level, 1LL << 40), level.blocks.size());
}

}  // namespace
}  // namespace ddpprof::timeline
