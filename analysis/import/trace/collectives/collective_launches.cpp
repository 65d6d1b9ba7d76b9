#include "analysis/import/trace/collectives/collective_launches.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace ddpprof::import {

CollectiveLaunches::CollectiveLaunches(const std::vector<CollectiveCall>& calls) : calls_(calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].external_id) by_id_.emplace(*calls[i].external_id, i);
    spans_[calls[i].tid].push_back(i);
  }
  for (auto& [tid, places] : spans_)
    std::sort(places.begin(), places.end(),
              [&](std::size_t a, std::size_t b) { return calls[a].time.start_ns < calls[b].time.start_ns; });
}

std::optional<std::size_t> CollectiveLaunches::call_of(const LaunchCall& launch) const {
  if (launch.external_id >= 0) {
    const auto found = by_id_.find(launch.external_id);
    return found == by_id_.end() ? std::nullopt : std::optional(found->second);
  }
  const auto thread = spans_.find(launch.tid);
  if (thread == spans_.end()) return std::nullopt;
  auto after = std::upper_bound(thread->second.begin(), thread->second.end(), launch.start_ns,
                                [&](std::int64_t t, std::size_t place) { return t < calls_[place].time.start_ns; });
  constexpr int depth = 4;  // records of one collective are nested at most this deep
  for (int i = 0; i < depth && after != thread->second.begin(); ++i)
    if (launch.start_ns < calls_[*--after].time.end_ns) return *after;
  return std::nullopt;
}

void mark_outer_calls(std::vector<CollectiveCall>& calls) {
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::tuple(calls[i].tid, calls[i].time.start_ns, -calls[i].time.end_ns, calls[i].mark);
    };
    return key(a) < key(b);
  });
  // The end of the latest record of each kind on the current thread. An annotation contains nothing: it may last until
  // the collective has ended, beside later calls.
  std::array<std::int64_t, collective_marks> until_ns{};
  std::optional<std::int64_t> tid;
  for (const std::size_t i : order) {
    CollectiveCall& call = calls[i];
    if (tid != call.tid) until_ns.fill(INT64_MIN);
    tid = call.tid;
    const auto own = static_cast<std::size_t>(call.mark);
    call.outer = true;
    for (std::size_t kind = 0; kind < own; ++kind) call.outer = call.outer && call.time.start_ns >= until_ns[kind];
    until_ns[own] = std::max(until_ns[own], call.time.end_ns);
  }
}

}  // namespace ddpprof::import
