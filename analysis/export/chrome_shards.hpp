// The ranks of a trace database for the Chrome export: names, clocks, track numbers, raw events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/export/chrome_format.hpp"
#include "tracer/store/clock.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::export_ {

class ChromeWriter;

struct ShardClock {
  std::int64_t id = 0, measurement = 0, rank = 0, pid = 0;
  std::string name;  // "ddp N=4 rank 2"
  std::string host, reference;
  std::string strategy, backend, device;  // of the measurement
  std::optional<std::int64_t> uncertainty_ns;
  bool raw_kept = false;  // true also if raw events are stored without being marked as kept
  store::ClockAlignment alignment;

  // Converts to rank 0's clock, to the ns as the views aligned_step and aligned_collective compute it.
  std::int64_t aligned(std::int64_t local_ns) const { return store::to_reference_ns(alignment, local_ns); }

  // Adds to `args.ddpprof` an event's recorded time if it cannot be computed from the aligned time.
  void keep_start(Json& own, std::int64_t local_ns) const { keep(own, "start_ns", local_ns); }
  void keep_end(Json& own, std::int64_t local_ns) const { keep(own, "end_ns", local_ns); }

 private:
  void keep(Json& own, const char* key, std::int64_t local_ns) const {
    if (alignment.drift_ppb != 0.0 && local_guess_ns(alignment, aligned(local_ns)) != local_ns) own[key] = local_ns;
  }
};

class ShardClocks {
 public:
  explicit ShardClocks(SQLite::Database&);
  const ShardClock& at(std::int64_t id) const { return shards_.at(id); }
  const std::vector<std::int64_t>& in_display_order() const { return order_; }  // kind, strategy, N, repeat, rank
  std::int64_t first_event_ns() const { return first_event_ns_; }               // aligned; 0 without events

 private:
  std::map<std::int64_t, ShardClock> shards_;
  std::vector<std::int64_t> order_;
  std::int64_t first_event_ns_ = 0;
};

// Writes the rows of tables that are not events, before the first event.
void write_tables(SQLite::Database&, ChromeWriter&);

// Writes a counter of the times when the rank computes, communicates and does both. Writes nothing if the database does
// not have the data: for a device whose kernels were not kept.
void write_counters(SQLite::Database&, ChromeWriter&, const ShardClock&);

// Writes the host's raw ranges, kernels, copies and CUDA calls of one shard. Returns the number of ranges that never
// ended.
std::int64_t write_raw(SQLite::Database&, ChromeWriter&, const ShardClock&);

}  // namespace ddpprof::export_
