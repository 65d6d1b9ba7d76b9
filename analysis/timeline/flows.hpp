// One collective over all its ranks: who came last, and by how much.
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
  // The last to start, for whom the others waited: into Timeline::collectives. None unless one came later than another.
  std::optional<std::uint32_t> slowest;
};
FlowFacts flow_facts(const Timeline&, const Group&);

// The group of a collective or of its launch; none for other events.
std::optional<std::uint32_t> group_of(const Timeline&, EventRef);

// [first, last) of Timeline::groups that may touch the range; all that do are among them.
std::pair<std::size_t, std::size_t> groups_between(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns);

// The groups that touch [begin_ns, end_ns), as indices; none when they are more than `most`.
std::optional<std::vector<std::uint32_t>> groups_touching(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns,
                                                          std::size_t most);

}  // namespace ddpprof::timeline
