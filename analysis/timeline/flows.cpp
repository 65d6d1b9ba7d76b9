#include "analysis/timeline/flows.hpp"

#include <algorithm>

namespace ddpprof::timeline {

FlowFacts flow_facts(const Timeline& timeline, const Group& group) {
  FlowFacts facts;
  std::int64_t first_ns = 0, last_ns = 0;
  for (const std::uint32_t member : group.members) {
    const Collective& c = timeline.collectives[member];
    if (!c.finished()) ++facts.unfinished;
    if (!c.start_ns) continue;
    if (facts.started++ == 0) first_ns = last_ns = *c.start_ns;
    if (*c.start_ns > last_ns) facts.slowest = member;
    last_ns = std::max(last_ns, *c.start_ns);
  }
  facts.skew_ns = last_ns - first_ns;
  return facts;
}

std::optional<std::uint32_t> group_of(const Timeline& timeline, EventRef ref) {
  const Row& row = timeline.rows[ref.row];
  const TrackKind kind = timeline.tracks[row.track].kind;
  if (kind != TrackKind::collectives && kind != TrackKind::launches) return std::nullopt;
  return timeline.collectives[row.argument[ref.event]].group;
}

std::pair<std::size_t, std::size_t> groups_between(const Timeline& timeline, std::int64_t begin_ns,
                                                   std::int64_t end_ns) {
  const auto from = [&](std::int64_t time_ns) {
    return static_cast<std::size_t>(std::partition_point(timeline.groups.begin(), timeline.groups.end(),
                                                         [&](const Group& group) { return group.first_ns < time_ns; }) -
                                    timeline.groups.begin());
  };
  return {from(begin_ns - timeline.longest_group_ns), from(end_ns)};
}

std::optional<std::vector<std::uint32_t>> groups_touching(const Timeline& timeline, std::int64_t begin_ns,
                                                          std::int64_t end_ns, std::size_t most) {
  // One long group makes the candidate range long for every query.
  const auto [first, last] = groups_between(timeline, begin_ns, end_ns);
  std::vector<std::uint32_t> out;
  for (std::size_t g = first; g < last; ++g) {
    if (timeline.groups[g].last_ns < begin_ns) continue;
    if (out.size() == most) return std::nullopt;
    out.push_back(static_cast<std::uint32_t>(g));
  }
  return out;
}

}  // namespace ddpprof::timeline
