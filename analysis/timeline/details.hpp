// The details of one event, in base units: those in memory, and those that are only in the file.
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
  std::string unit;  // s, bytes, …; "": no unit
};

// Returns its rank, track, start (since the timeline's begin), duration, and the data of its step or collective.
std::vector<Detail> details(const Timeline&, EventRef);

// Returns the bytes that the event moves, if they are known without the file.
std::optional<std::int64_t> bytes_of(const Timeline&, EventRef);

// Returns for a raw event its payload, domain, grid, bytes …; nothing for other events. Throws store::DatabaseError.
std::vector<Detail> raw_details(const std::filesystem::path&, const Timeline&, EventRef);

}  // namespace ddpprof::timeline
