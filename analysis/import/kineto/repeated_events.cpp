#include "analysis/import/kineto/repeated_events.hpp"

#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace ddpprof::import {
namespace {

template <class Item, class KeyOf>
std::int64_t drop_copies(std::vector<Item>& items, KeyOf key_of) {
  std::set<decltype(key_of(items.front()))> seen;
  return static_cast<std::int64_t>(
      std::erase_if(items, [&](const Item& item) { return !seen.insert(key_of(item)).second; }));
}

}  // namespace

std::int64_t drop_repeated_events(RankTrace& rank) {
  std::int64_t copies = drop_copies(rank.calls, [](const CollectiveCall& call) {
    return std::tuple(call.time.start_ns, call.time.end_ns, call.tid, call.mark, call.external_id);
  });
  copies += drop_copies(rank.runs, [](const CollectiveRun& run) {
    return std::tuple(run.time.start_ns, run.time.end_ns, run.stream, run.tid, run.correlation, run.external_id);
  });
  std::vector<StepMark> steps = rank.steps;
  const std::int64_t copied_steps = drop_copies(
      steps, [](const StepMark& step) { return std::tuple(step.time.start_ns, step.time.end_ns, step.name); });
  // A single step that is annotated twice is reported as an overlap. Times in microseconds may be equal by chance where
  // events are as short as the following ones.
  if (copies == 0 && (steps.empty() || 2 * copied_steps < static_cast<std::int64_t>(rank.steps.size()))) return 0;
  copies += copied_steps;
  rank.steps = std::move(steps);
  copies += drop_copies(rank.gradients, [](const GradientMark& gradient) {
    return std::tuple(gradient.ready_ns, gradient.shape, gradient.numel);
  });
  copies += drop_copies(rank.sharding, [](const ShardingMark& mark) {
    return std::tuple(mark.time.start_ns, mark.time.end_ns, mark.tid, mark.action, mark.unit);
  });
  copies += drop_copies(rank.unit_gradients, [](const UnitGradients& gradients) {
    return std::tuple(gradients.at_ns, gradients.tid, gradients.elements);
  });
  return copies;
}

}  // namespace ddpprof::import
