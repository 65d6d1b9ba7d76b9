// Writes a measurement's shards, model, steps and collectives as rows.
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

// The facts and the summary of one process.
struct LoadedShard {
  std::int64_t shard_id = 0;
  std::int64_t rank = -1;  // below 0: no rank; the steps of this process are left out
  bool raw_kept = false;
  ShardTrace trace;
  ShardSummary summary;
  std::int64_t steps = 0;                      // number of written rows of `step`
  std::optional<store::ClockAlignment> clock;  // nullopt: computed from the recorded exchanges
};

class MeasurementWriter {
 public:
  MeasurementWriter(store::Database& database, std::int64_t measurement_id, Diagnostics& diagnostics)
      : database_(database), measurement_id_(measurement_id), diagnostics_(diagnostics) {}

  // Call after the steps. A clock without a known relation to rank 0's becomes a diagnostic.
  void write_shards(std::span<const LoadedShard>);
  // Parameters and buckets are the same on every rank: uses those of the lowest rank that recorded them.
  void write_model(std::span<const LoadedShard>);
  // Writes steps with their phases and gradients, and collectives. Sets the ids. Returns the number of steps.
  std::int64_t write_steps(std::span<LoadedShard>);

 private:
  void write_collectives(const LoadedShard&, const std::vector<std::int64_t>& step_ids);

  store::Database& database_;
  std::int64_t measurement_id_;
  Diagnostics& diagnostics_;
};

// Returns the next free id of a table with an id column.
std::int64_t next_id(store::Database&, const char* table);

}  // namespace ddpprof::ingest
