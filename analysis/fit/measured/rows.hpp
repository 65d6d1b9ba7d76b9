// The database rows from which a profile is made, unchanged; measured.hpp condenses them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/fit/workload_key.hpp"

namespace SQLite {
class Statement;
}

namespace ddpprof::fit {

struct MeasurementInfo {
  std::int64_t id = 0;
  std::string kind, strategy;
  WorkloadKey workload;
  Machine machine;
  std::int64_t parameter_bytes = 0, parameter_count = 0;
  std::int64_t batch_per_worker = 0;  // of one micro-batch
  std::int64_t accumulation = 1;
  std::optional<double> bucket_cap_mb;
  bool find_unused_parameters = false;
  bool compressed = false;  // gradients are sent at another precision than their own
  bool from_log = false;    // a sweep of nccl-tests: one time per size; the machines may be unknown
};

// Bytes of a parameter; 0 if unknown.
inline double element_bytes_of(const MeasurementInfo& info) {
  return info.parameter_count > 0
             ? static_cast<double>(info.parameter_bytes) / static_cast<double>(info.parameter_count)
             : 0.0;
}

struct StepInfo {
  std::int64_t id = 0, rank = 0, step = 0;
  bool unwrapped = false;
  bool untraced = false;  // timed without the profiler: only its duration and its samples are known
  std::int64_t samples = 0, start_ns = 0, duration_ns = 0, data_ns = 0, buffers_ns = 0, forward_ns = 0, backward_ns = 0,
               optimizer_ns = 0, compute_ns = 0, communication_ns = 0, overlapped_ns = 0, exposed_ns = 0, skew_ns = 0,
               copy_ns = 0;
  std::optional<std::int64_t> backward_start_ns;  // of the last backward, since the step's start
  std::int64_t last_backward_ns = 0;              // its duration
  std::optional<std::int64_t> last_ready_ns;      // last gradient, since the step's start
  std::optional<std::int64_t> device_idle_ns;     // waiting for the host's launches; empty on a CPU or if not recorded
  // The part of optimizer_ns before the last backward: a network that is trained in turn with another, or a closure.
  std::int64_t early_optimizer_ns = 0;
  // Time in which collectives other than the last backward's buckets ran, before the last backward, in it and after it.
  std::int64_t others_before_ns = 0, others_in_ns = 0, others_after_ns = 0;
  std::int64_t others_skew_ns = 0;  // waiting for other ranks in them
};

struct CollectiveInfo {
  std::int64_t step_id = 0, shard_id = 0, communicator = 0, sequence = 0, bucket = -1, bytes = 0;
  std::optional<std::int64_t> ready_ns;
  std::int64_t launch_ns = 0;
  std::optional<std::int64_t> start_ns, end_ns;
  std::int64_t skew_ns = 0;  // time beyond the fastest rank's: waiting for other ranks
  std::string regime;        // "RING/LL128"; empty: not known
};

// A collective that does not reduce a bucket of the last backward: synchronised batch normalisation, buckets of earlier
// backwards, metrics.
struct OtherCollective {
  std::int64_t step_id = 0, bytes = 0, start_ns = 0, end_ns = 0, skew_ns = 0;  // bytes 0: not recorded
};

struct CopyInfo {
  std::string phase;
  std::int64_t duration_ns = 0, bytes = 0;  // summed over a step
};

struct CommInfo {
  std::int64_t bytes = 0, duration_ns = 0;   // fastest rank's, one iteration
  std::optional<std::int64_t> processor_ns;  // mean over the ranks
  std::int64_t iteration = 0;                // of a log: even out of place, odd in place
};

// Returns a time of the current row; nothing if it is NULL.
std::optional<std::int64_t> optional_ns(SQLite::Statement&, int column);

std::vector<MeasurementInfo> read_measurements(SQLite::Database&);
std::vector<StepInfo> read_steps(SQLite::Database&, std::int64_t measurement);
// All-reduces of gradient buckets in measured steps, ordered by shard and start.
std::vector<CollectiveInfo> read_collectives(SQLite::Database&, std::int64_t measurement);
// Collectives of measured steps that are not in read_collectives(), ordered by step and start.
std::vector<OtherCollective> read_other_collectives(SQLite::Database&, std::int64_t measurement);
std::vector<CopyInfo> read_copies(SQLite::Database&, std::int64_t measurement);
std::vector<CommInfo> read_comm_points(SQLite::Database&, std::int64_t measurement);

}  // namespace ddpprof::fit
