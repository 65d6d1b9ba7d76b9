// When each rank's measured steps were, for what is counted to the step in which it begins.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/metrics/measured.hpp"

namespace ddpprof::metrics {

// The measured steps of one shard, on its own clock.
struct StepWindows {
  struct Window {
    std::int64_t start_ns, end_ns;
    std::size_t step;  // place in Configuration::measured
  };
  std::size_t configuration = 0;  // place among those asked about
  std::vector<Window> windows;    // by start
  std::size_t last = 0;

  // The one that holds the moment; nullptr: none. Quick where moments come nearly in order.
  const Window* at(std::int64_t ns);
};

// By shard, of those whose raw events are in the file. Throws SQLite::Exception.
std::unordered_map<std::int64_t, StepWindows> read_step_windows(SQLite::Database&,
                                                                const std::vector<const Configuration*>&);

}  // namespace ddpprof::metrics
