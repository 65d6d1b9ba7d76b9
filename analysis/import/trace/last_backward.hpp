// Selects from lists ordered by time the collectives launched in a step's last backward, and its gradients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

// `all` must be ordered by launch; so is the result. Empty for a step without a backward.
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

// In the order in which they became ready, up to the step's end, because the optimizer reads the last ones.
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
