// Bytes and times of each unit of a sharded training (FSDP), per step of one rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace SQLite {
class Database;
}

namespace ddpprof::fit {

// Sums over one step of one rank; medians over the measured steps of all ranks. A collective's duration includes
// waiting for slower ranks; `skew_s` is this waiting.
struct UnitCollectives {
  double calls = 0;
  std::int64_t bytes = 0;  // of all calls of a step; of the buffers as a whole, on every rank
  double duration_s = 0, exposed_s = 0, skew_s = 0;
  std::optional<std::int64_t> hidden_by;  // the unit whose work hides most of them, most often
};

struct UnitTimes {
  std::int64_t unit = 0;
  std::string name;  // of the unit's module; empty: the root
  bool root = false;
  std::optional<std::int64_t> parameters, ranks;
  std::int64_t gathered_bytes = 0, scattered_bytes = 0;  // of one call
  std::optional<std::int64_t> gathered_element_bytes, scattered_element_bytes;
  std::optional<bool> gathers_again;
  bool scatters_by_all_reduce = false;
  UnitCollectives gathers, scatters, replicas;  // replicas: all-reduces over replicas of the shards
  double prefetched = 0;                        // all-gathers of a step that were launched ahead
  double forward_s = 0, backward_s = 0;         // compute
  double copy_s = 0;                            // copies into and out of the collectives' buffers

  // One rank's part of the gathered buffer; none: the number of ranks is unknown.
  std::optional<std::int64_t> shard_bytes() const {
    return ranks ? std::optional(gathered_bytes / *ranks) : std::nullopt;
  }
};

// Returns a measurement's units without their work. Throws SQLite::Exception.
std::vector<UnitTimes> sharded_units_alone(SQLite::Database&, std::int64_t measurement);

// Returns the units of measurements with the same units, in order of the first forward. Empty if the measurements are
// not of a sharded training. Throws SQLite::Exception.
std::vector<UnitTimes> sharded_units(SQLite::Database&, std::span<const std::int64_t> measurements);

}  // namespace ddpprof::fit
