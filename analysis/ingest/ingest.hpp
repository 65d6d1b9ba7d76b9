// Reads the shards of one measurement and writes its rows: what was recorded becomes steps, phases and collectives.
//
// Definitions (docs/reference/schema.md has the columns):
// - A step's time is its range's own start and end. Consecutive step ranges follow each other within microseconds: but
//   for those it is one optimizer step's end to the next one's. A step without an end is not a step. On a GPU the
//   phases forward, backward and optimizer are the host's: they last as long as launching takes, not computing.
// - Compute, without GPU kernels: forward, backward and optimizer, less the time the main thread only waits for
//   collectives: from the last gradient or launch of the step to the end of its last collective. Copying buckets back
//   after that end is compute; copying an early bucket back while a later one is in flight cannot be told from waiting.
//   DataParallel: the replicas' ranges, and the main thread's phases outside of copies and of the replicas' window.
//   With kernels: the union of those that are not NCCL's, clipped to the step.
// - Communication: collectives in flight on the backend's thread, NCCL's kernels, and DataParallel's copies.
//   A gradient bucket's end that was recorded after its backward's end is cut to it (see busy.hpp).
// - Skew of a collective: its duration less the shortest over the ranks; NULL when a rank's record is missing. A rank
//   that came early waits first and transfers then, so its waiting is [start, start + skew]. Skew of a step: the union
//   of its collectives' waiting, clipped to the step; concurrent collectives wait once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "tracer/store/database.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::ingest {

using MeasurementInfo = store::MeasurementRow;  // `id` is ignored

enum class RawPolicy { all, rank0, none };  // whose raw events go into the database

struct IngestResult {
  std::int64_t measurement_id = 0;
  std::int64_t steps = 0;        // rows of `step`
  std::int64_t events = 0;       // sound records read from the shards
  std::int64_t diagnostics = 0;  // rows of `diagnostic`
};

// One transaction: all of the measurement's rows or none. A shard that cannot be read becomes a diagnostic, never an
// exception; throws DatabaseError when the database cannot be written.
IngestResult ingest_measurement(store::Database&, const MeasurementInfo&, std::span<const std::filesystem::path> shards,
                                RawPolicy);

}  // namespace ddpprof::ingest
