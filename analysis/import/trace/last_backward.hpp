// What belongs to a step's last backward, of what is sorted by time: the collectives launched in it, its gradients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "analysis/import/trace/collectives.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

// Sorted by launch, as `all` is; empty for a step without a backward.
template <class Collectives>  // a vector of Collective, const or not
auto in_last_backward(const HostStep& step, Collectives& all) {
  using Part = std::span<std::remove_pointer_t<decltype(all.data())>>;
  if (!step.has_backward()) return Part();
  const auto at = [&](std::int64_t t) {
    return std::lower_bound(all.begin(), all.end(), t, [](const Collective& collective, std::int64_t time) {
      return collective.launch_ns < time;
    });
  };
  const auto first = at(step.passes.back().backward.start_ns);
  return Part(first, std::max(first, at(step.collectives_until_ns())));
}

// In the order they became ready; to the step's end, as the optimizer reads what came last.
inline std::span<const GradientMark> gradients_of_last_backward(const HostStep& step,
                                                                const std::vector<GradientMark>& all) {
  if (!step.has_backward()) return {};
  const auto at = [&](std::int64_t t) {
    return std::lower_bound(all.begin(), all.end(), t,
                            [](const GradientMark& mark, std::int64_t time) { return mark.ready_ns < time; });
  };
  const auto first = at(step.passes.back().backward.start_ns);
  return {first, std::max(first, at(step.time.end_ns))};
}

}  // namespace ddpprof::import
