// Events converted to rows: order, lanes and chunks.
#include <gtest/gtest.h>

#include "analysis/timeline/events.hpp"

namespace ddpprof::timeline {
namespace {

std::vector<Row> rows_of(std::initializer_list<std::initializer_list<Event>> parts) {
  std::vector<EventChunks> chunks;
  for (const auto& part : parts) {
    chunks.emplace_back();
    for (const Event& event : part) chunks.back().add(event);
  }
  return make_rows(std::move(chunks));
}

TEST(Rows, EventsInOrderStayOneRow) {
  const auto rows = rows_of({{{0, 10, 1, 7}, {10, 5, 2, 8}}, {{20, 0, 3, 9}}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at(0), (Event{0, 10, 1, 7}));
  EXPECT_EQ(rows[0].at(2), (Event{20, 0, 3, 9}));
}

TEST(Rows, WhatNestsLiesBelowWhatItIsIn) {
  // Written when they end, the inner one first.
  const auto rows = rows_of({{{10, 20, 1, 0}, {15, 5, 2, 0}, {0, 100, 3, 0}, {0, 10, 4, 0}}});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, std::vector<std::uint32_t>{3});
  EXPECT_EQ(rows[1].name, (std::vector<std::uint32_t>{4, 1}));
  EXPECT_EQ(rows[2].name, std::vector<std::uint32_t>{2});
}

TEST(Rows, ALaneIsTakenAgainOnceItIsFree) {
  const auto rows = rows_of({{{0, 10, 1, 0}, {5, 10, 2, 0}, {10, 10, 3, 0}}});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, (std::vector<std::uint32_t>{1, 3}));
}

TEST(Rows, ManyEventsSurviveTheChunks) {
  EventChunks chunks;
  constexpr std::int64_t count = 200'000;
  for (std::int64_t i = 0; i < count; ++i) chunks.add({i * 10, 5, static_cast<std::uint32_t>(i), 0});
  std::vector<EventChunks> parts;
  parts.push_back(std::move(chunks));
  const auto rows = make_rows(std::move(parts));
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0].size(), static_cast<std::size_t>(count));
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(rows[0].name[i], i);
}

TEST(Rows, IndicesByTime) {
  const auto rows = rows_of({{{0, 10, 0, 0}, {20, 0, 0, 0}, {30, 10, 0, 0}}});
  const Row& row = rows[0];
  struct Case {
    std::int64_t time_ns;
    std::size_t touching, from;
  };
  for (const Case& c : {Case{-5, 0, 0}, Case{0, 0, 0}, Case{5, 0, 1}, Case{10, 1, 1}, Case{20, 1, 1}, Case{21, 2, 2},
                        Case{39, 2, 3}, Case{40, 3, 3}}) {
    EXPECT_EQ(row.first_touching(c.time_ns), c.touching) << c.time_ns;
    EXPECT_EQ(row.first_from(c.time_ns), c.from) << c.time_ns;
  }
}

}  // namespace
}  // namespace ddpprof::timeline
