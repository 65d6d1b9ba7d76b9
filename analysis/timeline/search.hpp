// Finds events by a part of their name, ignoring case.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

// Returns for each name number whether it matches. An empty text matches nothing. Case is ignored for A to Z.
std::vector<bool> matching_names(const Names&, std::string_view part);

// Returns events in order of time, then of rows. None if cancelled.
std::optional<std::vector<EventRef>> search(const Timeline&, std::string_view part,
                                            const std::function<bool()>& cancelled = {});

// Returns the index of the first hit that starts at `time_ns` or later; otherwise hits.size().
std::size_t first_hit_from(const Timeline&, const std::vector<EventRef>& hits, std::int64_t time_ns);

}  // namespace ddpprof::timeline
