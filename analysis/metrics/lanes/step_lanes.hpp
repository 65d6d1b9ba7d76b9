// One measured step of one rank as lanes, from its records: phases, gradients, collectives, replicas.
//
// The first lane is the thread of the step, with the rules of the step table: compute is forward, backward and
// optimizer without waiting and copying. A collective in flight during compute is overlapped. Otherwise it is exposed,
// or skew while it waits for slower ranks. On a GPU the first lane is the host thread, which launches the work: it
// shows no waiting or copying, and kernels have lanes of their own. If kernels were not kept, a collective in flight is
// one segment of kind `other`.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/step/lanes.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::metrics {

// Returns the measured step whose time (mean over the ranks) is nearest to the median; ties go to the first. Throws
// std::invalid_argument if the measurement has no measured step.
std::int64_t typical_step(store::Database&, std::int64_t measurement);

// `rank` is 0 for DataParallel's single process. Without `rank`: the smallest one that recorded the step. Without
// `step`: typical_step. Throws std::invalid_argument if the rank did not record this step, store::DatabaseError if the
// file cannot be read.
step::StepLanes measured_lanes(store::Database&, std::int64_t measurement, std::optional<std::int64_t> rank,
                               std::optional<std::int64_t> step = {});

}  // namespace ddpprof::metrics
