// The ranks of a trace database as the Chrome export sees them: names, clocks, track numbers, raw events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracer/store/clock.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::export_ {

class ChromeWriter;

// Track numbers (tid) within a process; docs/report.md documents them.
inline constexpr std::int64_t step_track = 1;
inline constexpr std::int64_t gradient_track = 2;
inline constexpr std::int64_t launch_track = 3;
inline constexpr std::int64_t collective_track = 10;    // + lane
inline constexpr std::int64_t replica_track = 1000;     // + replica
inline constexpr std::int64_t loader_track = 50000;     // + thread of the data loader
inline constexpr std::int64_t stream_track = 100000;    // + index of (device, stream)
inline constexpr std::int64_t thread_track = 200000;    // + index of the operating system's thread: raw ranges
inline constexpr std::int64_t cuda_api_track = 300000;  // + index of the thread: CUDA calls
inline constexpr std::int64_t first_crossing = 50000;   // + one of the three above, + index: what would cross there

struct ShardClock {
  std::int64_t id = 0, measurement = 0, rank = 0, pid = 0;
  std::string name;  // "ddp N=4 rank 2"
  std::string host, reference;
  std::optional<std::int64_t> uncertainty_ns;
  bool raw_kept = false;
  store::ClockAlignment alignment;

  // On rank 0's clock, to the ns as the views aligned_step and aligned_collective compute it.
  std::int64_t aligned(std::int64_t local_ns) const { return store::to_reference_ns(alignment, local_ns); }
};

class ShardClocks {
 public:
  explicit ShardClocks(SQLite::Database&);
  const ShardClock& at(std::int64_t id) const { return shards_.at(id); }
  const std::vector<std::int64_t>& in_display_order() const { return order_; }  // kind, strategy, N, repeat, rank
  std::int64_t first_event_ns() const { return first_event_ns_; }               // aligned; 0 when there is none

 private:
  std::map<std::int64_t, ShardClock> shards_;
  std::vector<std::int64_t> order_;
  std::int64_t first_event_ns_ = 0;
};

// Raw ranges of the host, kernels, copies and CUDA calls of one shard. Returns how many ranges never ended.
std::int64_t write_raw(SQLite::Database&, ChromeWriter&, const ShardClock&);

}  // namespace ddpprof::export_
