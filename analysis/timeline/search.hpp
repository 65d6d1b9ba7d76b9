// Finds events by a part of their name, letters of either case.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

// By name number; nothing matches an empty text. Upper and lower case are the same for A to Z.
std::vector<bool> matching_names(const Names&, std::string_view part);

// In order of time, then of rows. None when cancelled.
std::optional<std::vector<EventRef>> search(const Timeline&, std::string_view part,
                                            const std::function<bool()>& cancelled = {});

// The number of the first hit that starts at `time_ns` or later; hits.size() when there is none.
std::size_t first_hit_from(const Timeline&, const std::vector<EventRef>& hits, std::int64_t time_ns);

}  // namespace ddpprof::timeline
