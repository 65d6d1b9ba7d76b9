// Reads one measurement's timeline from a trace database: summaries first, then raw events with two threads.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

struct LoadHooks {
  std::function<bool()> cancelled;  // called from both threads, every few thousand rows
  std::function<void(std::shared_ptr<const Timeline>)>
      first;                             // receives steps, phases and collectives, before raw events are read
  std::function<void(double)> progress;  // share of the raw rows read, from both threads
};

// Returns null if cancelled. Opens the file once, and three times more if raw events were kept. Raw tables are read
// completely, in the order of their rows, which is several times faster than with an index; rows of other measurements
// are skipped. Memory: up to 35 bytes per event, and while rows are joined 24 bytes more for each event of the current
// rows. Throws store::DatabaseError, and std::invalid_argument if the measurement is missing.
std::shared_ptr<const Timeline> load(const std::filesystem::path&, std::int64_t measurement, const LoadHooks& = {});

}  // namespace ddpprof::timeline
