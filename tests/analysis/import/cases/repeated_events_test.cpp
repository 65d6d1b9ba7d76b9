// Events that a trace has twice, as tools that join traces write them: they count once, and that is reported.
#include <gmock/gmock.h>

#include <functional>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

// The trace with copies of the events for which `repeated` returns true, at its end.
std::string with_copies(const std::function<bool(const std::string& event, std::size_t place)>& repeated) {
  TraceText trace = MadeTrace{}.trace();
  const std::vector<std::string> events = trace.events;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (repeated(events[i], i)) trace.events.push_back(events[i]);
  return trace.text();
}

void expect_equal(const Case& found, const Case& once) {
  ASSERT_EQ(found.imported.error, "");
  EXPECT_EQ(found.strategy, once.strategy);
  EXPECT_EQ(found.parameter_bytes, once.parameter_bytes);
  EXPECT_EQ(found.imported.rows.at("collective"), once.imported.rows.at("collective"));
  EXPECT_EQ(found.imported.totals, once.imported.totals);
  ASSERT_EQ(found.steps.size(), once.steps.size());
  for (std::size_t i = 0; i < once.steps.size(); ++i) {
    EXPECT_EQ(found.steps[i].duration_ns, once.steps[i].duration_ns) << i;
    EXPECT_EQ(found.steps[i].communication_ns, once.steps[i].communication_ns) << i;
    EXPECT_EQ(found.steps[i].exposed_ns, once.steps[i].exposed_ns) << i;
    EXPECT_EQ(found.steps[i].samples, once.steps[i].samples) << i;
    EXPECT_EQ(found.steps[i].device_idle_ns, once.steps[i].device_idle_ns) << i;
  }
}

TEST(RepeatedEvents, CountOnce) {
  const Case once = import_text(MadeTrace{}.text());
  ASSERT_FALSE(once.told("events_repeated"));
  const Case whole = import_text(with_copies([](const std::string&, std::size_t) { return true; }));
  expect_equal(whole, once);
  // Of each of the 3 steps: the step, a gradient, two calls of the all-reduce, its run, and two kernels.
  EXPECT_EQ(whole.imported.counts().at("events_repeated"), 3 * 7);
  EXPECT_FALSE(whole.told("steps_overlap"));
  const Case kernels = import_text(with_copies(
      [](const std::string& event, std::size_t) { return event.find(R"("cat": "kernel")") != std::string::npos; }));
  expect_equal(kernels, once);
  EXPECT_TRUE(kernels.told("events_repeated"));
  const Case some = import_text(with_copies([](const std::string&, std::size_t place) { return place % 3 == 0; }));
  expect_equal(some, once);
  EXPECT_TRUE(some.told("events_repeated"));
}

// A training of one process, whose gradients give the size of its parameters.
TEST(RepeatedEvents, OfOneProcessCountOnce) {
  MadeTrace alone;
  alone.calls = false;
  alone.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1})";
  TraceText trace = alone.trace();
  std::erase_if(trace.events, [](const std::string& event) { return event.find("nccl") != std::string::npos; });
  const Case once = import_text(trace.text());
  const std::vector<std::string> events = trace.events;
  trace.events.insert(trace.events.end(), events.begin(), events.end());
  const Case twice = import_text(trace.text());
  expect_equal(twice, once);
  EXPECT_EQ(once.parameter_bytes, 256 * 256 * 4);
  EXPECT_EQ(twice.imported.counts().at("events_repeated"), 3 * 3) << "the step, a gradient and a kernel of each step";
}

}  // namespace
}  // namespace ddpprof::import
