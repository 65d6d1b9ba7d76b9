#include "analysis/import/trace/gradient_group.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/last_backward.hpp"

namespace ddpprof::import {
namespace {

struct Group {
  std::int64_t size = 0, bytes = 0, count = 0;
  bool carries_gradients = false;
};

// Of the step's last backward; none where a shape or a type was not recorded.
std::optional<std::int64_t> gradient_bytes(const RankTrace& rank, const HostStep& step) {
  std::int64_t bytes = 0;
  for (const GradientMark& mark : gradients_of_last_backward(step, rank.gradients)) {
    const std::int64_t one = bytes_of(mark.numel, mark.element_bytes);
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
    for (const Collective& collective : in_last_backward(step, collectives)) {
      if (collective.op != CollectiveOp::all_reduce) continue;
      Group& group = groups[collective.communicator];
      group.size = std::max(group.size, collective.group_size);
      group.bytes = sum_of(group.bytes, collective.bytes);
      ++group.count;
      bytes[collective.communicator] = sum_of(bytes[collective.communicator], collective.bytes);
    }
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
    for (Collective& collective : in_last_backward(step, collectives)) {
      if (collective.op != CollectiveOp::all_reduce) continue;
      collective.gradient = collective.communicator == chosen->first;
      others += collective.gradient ? 0 : 1;
    }
  return others;
}

}  // namespace ddpprof::import
