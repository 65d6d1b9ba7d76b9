// Combines the host readings in the ranks' results: one row of host_condition per host.
#pragma once

#include <vector>

#include "analysis/import/ranks/rank_results.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::ranks {

// Returns rows without measurement_id, ordered by host. A host has a row if one of its ranks reached its end.
// ranks_share is the processor time of the host's ranks. others_share is the user and system time of /proc/stat beyond
// it. /proc/stat counts ticks of 10 ms, so others_share is missing if the window has less than 1 s of processor time.
std::vector<store::HostConditionRow> host_conditions(const RankResults& results);

}  // namespace ddpprof::ranks
