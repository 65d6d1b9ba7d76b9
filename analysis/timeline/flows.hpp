// One collective over all its ranks: which rank came last, and by how much.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

struct FlowFacts {
  std::int64_t started = 0, unfinished = 0;  // ranks that started; ranks that never started or never ended
  std::int64_t skew_ns = 0;                  // last start - first start
  // The last member to start, for which the others waited: index into Timeline::collectives. None if all started
  // together.
  std::optional<std::uint32_t> slowest;
};
FlowFacts flow_facts(const Timeline&, const Group&);

// Returns the group of a collective or of its launch; none for other events.
std::optional<std::uint32_t> group_of(const Timeline&, EventRef);

// Returns a range [first, last) of Timeline::groups that contains all groups that touch the time range.
std::pair<std::size_t, std::size_t> groups_between(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns);

// Returns the indices of the groups that touch [begin_ns, end_ns); none if there are more than `most`.
std::optional<std::vector<std::uint32_t>> groups_touching(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns,
                                                          std::size_t most);

}  // namespace ddpprof::timeline
