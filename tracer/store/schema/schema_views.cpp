// The views and indexes.
#include <array>

#include "tracer/store/schema/schema.hpp"

namespace ddpprof::store {
namespace {

constexpr std::array all_views = {
    View{"aligned_step", "step with start_ns on rank 0's clock; NULL where the rank's clock is unknown.",
         "SELECT st.*, sh.measurement_id, sh.rank, CASE WHEN sh.clock_reference <> 'unknown' THEN st.start_ns + "
         "sh.clock_offset_ns + CAST((st.start_ns - sh.clock_at_ns) * 1e-9 * sh.clock_drift_ppb AS INTEGER) END "
         "AS aligned_start_ns "
         "FROM step st JOIN shard sh ON sh.id = st.shard_id"},
    View{"aligned_collective",
         "collective with start and end on rank 0's clock; NULL where the rank's clock is unknown.",
         "SELECT c.*, sh.measurement_id, sh.rank, CASE WHEN sh.clock_reference <> 'unknown' THEN "
         "c.start_ns + sh.clock_offset_ns + CAST((c.start_ns - sh.clock_at_ns) * 1e-9 * sh.clock_drift_ppb AS INTEGER) "
         "END AS aligned_start_ns, CASE WHEN sh.clock_reference <> 'unknown' THEN "
         "c.end_ns + sh.clock_offset_ns + CAST((c.end_ns - sh.clock_at_ns) * 1e-9 * sh.clock_drift_ppb AS INTEGER) "
         "END AS aligned_end_ns "
         "FROM collective c JOIN shard sh ON sh.id = c.shard_id"},
};

constexpr std::array all_indexes = {
    Index{"shard_by_measurement", "shard(measurement_id, rank)"},
    Index{"step_by_shard", "step(shard_id, step)"},
    Index{"phase_by_step", "phase(step_id)"},
    Index{"grad_ready_by_step", "grad_ready(step_id)"},
    Index{"collective_by_shard", "collective(shard_id, communicator, sequence)"},
    Index{"collective_by_step", "collective(step_id)"},
    Index{"sharded_work_by_step", "sharded_work(step_id)"},
    Index{"comm_point_by_shard", "comm_point(shard_id, bytes)"},
    Index{"range_by_start", "range(shard_id, start_ns)"},
    Index{"kernel_by_start", "kernel(shard_id, start_ns)"},
};

}  // namespace

std::span<const View> views() { return all_views; }
std::span<const Index> indexes() { return all_indexes; }

}  // namespace ddpprof::store
