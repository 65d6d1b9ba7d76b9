// All that is known of one event, in base units: from memory at once, and what only the file has.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

struct Detail {
  std::string name;
  std::variant<std::string, std::int64_t, double> value;
  std::string unit;  // s, bytes, …; "" for none
};

// Its rank, track, start (since the timeline's begin), duration, and what its step or collective says.
std::vector<Detail> details(const Timeline&, EventRef);

// The bytes it moves, where they are known without the file.
std::optional<std::int64_t> bytes_of(const Timeline&, EventRef);

// Of a raw event: payload, domain, grid, bytes …; nothing for others. Throws store::DatabaseError.
std::vector<Detail> raw_details(const std::filesystem::path&, const Timeline&, EventRef);

}  // namespace ddpprof::timeline
