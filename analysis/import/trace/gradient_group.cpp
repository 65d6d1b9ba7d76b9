#include "analysis/import/trace/gradient_group.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

struct Group {
  std::int64_t size = 0, bytes = 0, count = 0;
  bool carries_gradients = false;
};

template <class Function>
void in_last_backward(const HostStep& step, std::vector<Collective>& collectives, Function&& function) {
  if (!step.has_backward()) return;
  auto next = std::lower_bound(collectives.begin(), collectives.end(), step.passes.back().backward.start_ns,
                               [](const Collective& c, std::int64_t t) { return c.launch_ns < t; });
  for (; next != collectives.end() && next->launch_ns < step.collectives_until_ns(); ++next)
    if (next->op == CollectiveOp::all_reduce) function(*next);
}

// Of the step's last backward; none where a shape or a type was not recorded.
std::optional<std::int64_t> gradient_bytes(const RankTrace& rank, const HostStep& step) {
  if (!step.has_backward()) return std::nullopt;
  std::int64_t bytes = 0;
  auto mark = std::lower_bound(rank.gradients.begin(), rank.gradients.end(), step.passes.back().backward.start_ns,
                               [](const GradientMark& g, std::int64_t t) { return g.ready_ns < t; });
  for (; mark != rank.gradients.end() && mark->ready_ns < step.time.end_ns; ++mark) {
    const std::int64_t one = bytes_of(mark->numel, mark->element_bytes);
    if (one == 0) return std::nullopt;
    bytes = sum_of(bytes, one);
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace

std::int64_t mark_gradients(const RankTrace& rank, const std::vector<HostStep>& steps,
                            std::vector<Collective>& collectives) {
  for (Collective& collective : collectives) collective.gradient = false;
  std::map<std::uint64_t, Group> groups;
  for (const HostStep& step : steps) {
    std::map<std::uint64_t, std::int64_t> bytes;
    in_last_backward(step, collectives, [&](const Collective& collective) {
      Group& group = groups[collective.communicator];
      group.size = std::max(group.size, collective.group_size);
      group.bytes = sum_of(group.bytes, collective.bytes);
      ++group.count;
      bytes[collective.communicator] = sum_of(bytes[collective.communicator], collective.bytes);
    });
    if (const std::optional<std::int64_t> gradients = gradient_bytes(rank, step))
      for (const auto& [communicator, sum] : bytes)
        if (sum == *gradients || 2 * sum == *gradients) groups[communicator].carries_gradients = true;
  }
  if (groups.empty()) return 0;
  const auto rank_of = [](const Group& group) {
    return std::tuple(group.carries_gradients, group.size, group.bytes, group.count);
  };
  const auto chosen = std::max_element(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
    return rank_of(a.second) < rank_of(b.second);
  });
  std::int64_t others = 0;
  for (const HostStep& step : steps)
    in_last_backward(step, collectives, [&](Collective& collective) {
      collective.gradient = collective.communicator == chosen->first;
      others += collective.gradient ? 0 : 1;
    });
  return others;
}

}  // namespace ddpprof::import
