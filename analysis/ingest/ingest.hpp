// Reads the shards of one measurement and writes its rows: records become steps, phases and collectives.
//
// Definitions (docs/reference/schema.md has the columns):
// - A step's time is from the start to the end of its range. Consecutive step ranges follow each other within
//   microseconds, so this is nearly the time between the ends of two optimizer steps. A step without an end is ignored.
//   On a GPU the phases forward, backward and optimizer are times of the host: of launching, not of computing.
// - Compute, without GPU kernels: forward, backward and optimizer, minus the time in which the main thread only waits
// for
//   collectives. That is from the last gradient or launch of the step to the end of its last collective. Copying
//   buckets back after that end is compute. Copying an early bucket back while a later one is in flight cannot be
//   distinguished from waiting. DataParallel: the replicas' ranges, and the main thread's phases without copies and
//   without the time in which replicas run. With GPU kernels: the union of all kernels except NCCL's, clipped to the
//   step.
// - Communication: collectives in flight on the backend's thread, NCCL's kernels, and DataParallel's copies. The end of
// a
//   gradient bucket is cut to the end of its backward (see busy.hpp).
// - Skew of a collective: its duration minus the shortest duration over the ranks; NULL if a rank's record is missing.
// An
//   early rank first waits and then transfers, so its waiting is [start, start + skew]. Skew of a step: the union of
//   the waiting in its collectives, clipped to the step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "tracer/store/database.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::ingest {

using MeasurementInfo = store::MeasurementRow;  // `id` is ignored

enum class RawPolicy { all, rank0, none };  // the ranks whose raw events are stored

struct IngestResult {
  std::int64_t measurement_id = 0;
  std::int64_t steps = 0;        // rows of `step`
  std::int64_t events = 0;       // valid records in the shards
  std::int64_t diagnostics = 0;  // rows of `diagnostic`
};

// Writes all of the measurement's rows in one transaction. A shard that cannot be read becomes a diagnostic, not an
// exception. Throws DatabaseError if the database cannot be written.
IngestResult ingest_measurement(store::Database&, const MeasurementInfo&, std::span<const std::filesystem::path> shards,
                                RawPolicy);

}  // namespace ddpprof::ingest
