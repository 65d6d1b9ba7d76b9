// Reads one measurement's timeline from a trace database: summaries first, then raw events on two threads.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

struct LoadHooks {
  std::function<bool()> cancelled;  // asked from both threads, every few thousand rows
  std::function<void(std::shared_ptr<const Timeline>)>
      first;                             // steps, phases and collectives: before raw events are read
  std::function<void(double)> progress;  // share of the raw rows read, from both threads
};

// Null when cancelled. Opens the file once, and three times more where raw events were kept. Raw tables are read whole
// and in the order of their rows, which is several times as fast as by an index; the other measurements' rows are
// passed over. Memory: up to 35 bytes an event, and while rows are joined 24 more for each event of the rows in work.
// Throws store::DatabaseError, and std::invalid_argument for a measurement that is not there.
std::shared_ptr<const Timeline> load(const std::filesystem::path&, std::int64_t measurement, const LoadHooks& = {});

}  // namespace ddpprof::timeline
