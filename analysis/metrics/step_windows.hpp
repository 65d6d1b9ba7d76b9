// Start and end of each rank's measured steps, to assign events to the step in which they begin.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/metrics/measured.hpp"

namespace ddpprof::metrics {

// The measured steps of one shard, on the clock of the shard.
struct StepWindows {
  struct Window {
    std::int64_t start_ns, end_ns;
    std::size_t step;  // index into Configuration::measured
  };
  std::size_t configuration = 0;  // index into the given configurations
  std::vector<Window> windows;    // by start
  std::size_t last = 0;

  // Returns the window that contains this time, or nullptr. Fast if times are nearly in order.
  const Window* at(std::int64_t ns);
};

// Returns the windows by shard, for shards with raw events in the file. Throws SQLite::Exception.
std::unordered_map<std::int64_t, StepWindows> read_step_windows(SQLite::Database&,
                                                                const std::vector<const Configuration*>&);

}  // namespace ddpprof::metrics
