// Device times of small random slices and windows, compared with a model that checks every nanosecond.
#include "analysis/import/trace/device_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ddpprof::import {
namespace {

int kind_of(Work work) { return work == Work::compute ? 0 : work == Work::communication ? 1 : 2; }

DeviceTime nanosecond_by_nanosecond(const std::vector<Slice>& slices, const Window& window) {
  DeviceTime time;
  for (std::int64_t now = window.start_ns; now < window.end_ns; ++now) {
    bool busy[3] = {};
    for (const Slice& slice : slices)
      if (slice.start_ns <= now && now < slice.end_ns) busy[kind_of(slice.work)] = true;
    time.compute_ns += busy[0] ? 1 : 0;
    time.communication_ns += busy[1] ? 1 : 0;
    time.memory_ns += busy[2] ? 1 : 0;
    time.overlapped_ns += busy[0] && busy[1] ? 1 : 0;
    time.busy_ns += busy[0] || busy[1] || busy[2] ? 1 : 0;
  }
  for (const Slice& slice : slices)
    if (window.start_ns <= slice.start_ns && slice.start_ns < window.end_ns)
      ++(slice.work == Work::compute         ? time.kernels
         : slice.work == Work::communication ? time.collective_kernels
                                             : time.copies);
  return time;
}

void expect_equal(const DeviceTime& found, const DeviceTime& expected) {
  EXPECT_EQ(found.compute_ns, expected.compute_ns);
  EXPECT_EQ(found.communication_ns, expected.communication_ns);
  EXPECT_EQ(found.memory_ns, expected.memory_ns);
  EXPECT_EQ(found.overlapped_ns, expected.overlapped_ns);
  EXPECT_EQ(found.exposed_ns(), expected.communication_ns - expected.overlapped_ns);
  EXPECT_EQ(found.busy_ns, expected.busy_ns);
  EXPECT_EQ(found.kernels, expected.kernels);
  EXPECT_EQ(found.collective_kernels, expected.collective_kernels);
  EXPECT_EQ(found.copies, expected.copies);
}

TEST(DeviceTimes, AgreeWithEveryNanosecond) {
  std::mt19937 random(31);
  const auto draw = [&](std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(below));
  };
  for (int round = 0; round < 5000 && !testing::Test::HasFailure(); ++round) {
    std::vector<Slice> slices(static_cast<std::size_t>(1 + draw(12)));
    for (Slice& slice : slices) {
      slice.start_ns = 20 + draw(60);
      slice.end_ns = slice.start_ns + draw(draw(3) == 0 ? 60 : 8);  // also empty ones
      slice.work = static_cast<Work>(draw(works));
    }
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.start_ns < b.start_ns; });
    std::vector<Window> windows;
    for (std::int64_t from = draw(40); from < 150;) {
      const std::int64_t to = from + draw(40);
      windows.push_back({from, to});
      from = to + (draw(2) == 0 ? 0 : draw(20));
      if (to == windows.back().start_ns) ++from;
    }
    DeviceTimes times(windows);
    for (const Slice& slice : slices) times.add(slice);
    times.finish();
    std::int64_t end_ns = 0;
    for (const Slice& slice : slices) end_ns = std::max(end_ns, slice.end_ns);
    EXPECT_EQ(times.extent().start_ns, slices.front().start_ns);
    EXPECT_EQ(times.extent().end_ns, end_ns);
    expect_equal(times.whole(), nanosecond_by_nanosecond(slices, {0, 200}));
    ASSERT_EQ(times.windows().size(), windows.size());
    for (std::size_t i = 0; i < windows.size(); ++i)
      expect_equal(times.windows()[i], nanosecond_by_nanosecond(slices, windows[i]));
  }
}

TEST(DeviceTimes, NoSlice) {
  DeviceTimes times({{0, 10}, {10, 20}});
  times.finish();
  EXPECT_EQ(times.whole().busy_ns, 0);
  EXPECT_EQ(times.windows().size(), 2U);
  EXPECT_EQ(times.extent().end_ns - times.extent().start_ns, 0);
}

TEST(DeviceTimes, TimesSince1970) {
  const std::int64_t then_ns = 1'700'000'000'000'000'000;
  DeviceTimes times({{then_ns, then_ns + 5}});
  times.add({.start_ns = then_ns + 3, .end_ns = then_ns + 100});
  times.finish();
  EXPECT_EQ(times.whole().compute_ns, 97);
  EXPECT_EQ(times.windows()[0].compute_ns, 2);
}

}  // namespace
}  // namespace ddpprof::import
