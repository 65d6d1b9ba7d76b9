// Work launched by a given time, compared with a model that checks every slice for every time.
#include "analysis/import/trace/launch_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ddpprof::import {
namespace {

TEST(LaunchOrder, AgreesWithLookingAtEverySlice) {
  std::mt19937 random(32);
  const auto draw = [&](unsigned below) { return static_cast<std::int64_t>(random() % below); };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::int64_t> moments(static_cast<std::size_t>(draw(8)));
    for (std::int64_t& moment : moments) moment = draw(30);
    std::vector<Slice> slices(static_cast<std::size_t>(draw(10)));
    LaunchOrder order(moments);
    for (Slice& slice : slices) {
      slice.launch_ns = draw(30);
      slice.start_ns = slice.launch_ns + draw(40);  // unordered
      slice.end_ns = slice.start_ns + draw(20);
      slice.work = static_cast<Work>(draw(works));
      slice.stream = static_cast<std::int32_t>(draw(3));
      order.add(slice);
    }
    order.finish();
    for (const std::int64_t moment : moments) {
      std::optional<std::int64_t> computed, done, begun;
      const auto kernel = [](const Slice& slice) { return slice.work == Work::compute; };
      for (const Slice& slice : slices) {
        // Copies of a stream without kernels run beside the phases.
        if ((slice.work == Work::copy || slice.work == Work::set) && std::ranges::any_of(slices, kernel) &&
            std::ranges::none_of(slices, [&](const Slice& one) { return kernel(one) && one.stream == slice.stream; }))
          continue;
        const bool counts = slice.work != Work::communication;
        if (slice.launch_ns < moment) {
          done = std::max(done.value_or(INT64_MIN), slice.end_ns);
          if (counts) computed = std::max(computed.value_or(INT64_MIN), slice.end_ns);
        } else if (counts) {
          begun = std::min(begun.value_or(INT64_MAX), slice.start_ns);
        }
      }
      ASSERT_EQ(order.computed_by_ns(moment), computed);
      ASSERT_EQ(order.done_by_ns(moment), done);
      ASSERT_EQ(order.begun_from_ns(moment), begun);
    }
  }
}

// Equal steps of 100 ns whose last kernel ends 40 ns before the host's step, or 30 ns after it.
TEST(LaunchOrder, TheFirstStepIsAsLongAsTheOthers) {
  for (const std::int64_t behind_ns : {-40, 30}) {
    LaunchOrder order({0, 100, 200, 300});
    for (const std::int64_t host_ns : {0, 100, 200}) {
      Slice slice;
      slice.work = Work::compute;
      slice.launch_ns = host_ns + 10;
      slice.start_ns = host_ns + 50;
      slice.end_ns = host_ns + 100 + behind_ns;
      order.add(slice);
    }
    order.finish();
    EXPECT_EQ(order.step_on_device({0, 100}).start_ns, behind_ns);
    for (const std::int64_t host_ns : {0, 100, 200})
      EXPECT_EQ(order.step_on_device({host_ns, host_ns + 100}),
                (ingest::Interval{host_ns + behind_ns, host_ns + 100 + behind_ns}));
  }
}

// The device was idle before the first step, and is 80 ns behind the host at its end.
TEST(LaunchOrder, AStepDoesNotStartAfterItsWork) {
  LaunchOrder order({0, 100});
  Slice slice;
  slice.work = Work::compute;
  slice.launch_ns = 5;
  slice.start_ns = 10;
  slice.end_ns = 180;
  order.add(slice);
  order.finish();
  EXPECT_EQ(order.step_on_device({0, 100}).start_ns, 10);
  EXPECT_EQ(order.step_on_device({0, 100}).end_ns, 180);
}

}  // namespace
}  // namespace ddpprof::import
