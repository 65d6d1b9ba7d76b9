// One measured step of one rank as lanes, from what the database keeps of it: phases, gradients, collectives, replicas.
//
// The first lane is the step's own thread, by the rules the step table is made with: compute is forward, backward and
// optimizer without waiting and copying; a collective in flight beside it is overlapped, elsewhere exposed or, where it
// waits for slower ranks, skew. On a GPU that lane is the host's, which launches: it shows neither waiting nor copying,
// and kernels have lanes of their own. Where they were not kept, a collective in flight is one segment of kind `other`.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/step/lanes.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::metrics {

// The measured step whose time (mean over the ranks) is nearest the median; of equals the first. Throws
// std::invalid_argument when the measurement has none.
std::int64_t typical_step(store::Database&, std::int64_t measurement);

// `rank` is 0 for DataParallel's one process; without `step` the typical one. Throws std::invalid_argument when that
// rank recorded no such step, store::DatabaseError when the file cannot be read.
step::StepLanes measured_lanes(store::Database&, std::int64_t measurement, std::int64_t rank,
                               std::optional<std::int64_t> step = {});

}  // namespace ddpprof::metrics
