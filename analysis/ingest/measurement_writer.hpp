// Writes a measurement's shards, model, steps and collectives as rows; what they hold was decided before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/ingest/diagnostics.hpp"
#include "analysis/ingest/shard_trace.hpp"
#include "analysis/ingest/summary.hpp"
#include "tracer/store/clock.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::ingest {

// One process's facts and what became of them.
struct LoadedShard {
  std::int64_t shard_id = 0;
  std::int64_t rank = -1;  // below 0: a process without a rank; its steps are left out
  bool raw_kept = false;
  ShardTrace trace;
  ShardSummary summary;
  std::int64_t steps = 0;                      // rows of `step` that it has, once they are written
  std::optional<store::ClockAlignment> clock;  // none: from the exchanges that it recorded
};

class MeasurementWriter {
 public:
  MeasurementWriter(store::Database& database, std::int64_t measurement_id, Diagnostics& diagnostics)
      : database_(database), measurement_id_(measurement_id), diagnostics_(diagnostics) {}

  // After their steps. A clock without a known relation to rank 0's becomes a diagnostic.
  void write_shards(std::span<const LoadedShard>);
  // Parameters and buckets are the same on every rank: the lowest that recorded them speaks for all.
  void write_model(std::span<const LoadedShard>);
  // Steps with their phases and gradients, and collectives; returns how many steps. Ids are filled in.
  std::int64_t write_steps(std::span<LoadedShard>);

 private:
  void write_collectives(const LoadedShard&, const std::vector<std::int64_t>& step_ids);

  store::Database& database_;
  std::int64_t measurement_id_;
  Diagnostics& diagnostics_;
};

// The largest rowid of a table, which is its id where it has one; 0: it has no row.
// The next free id of a table with one.
std::int64_t next_id(store::Database&, const char* table);

}  // namespace ddpprof::ingest
