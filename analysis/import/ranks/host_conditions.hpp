// What the ranks' results say about their hosts, put together: a row of host_condition for each host.
#pragma once

#include <vector>

#include "analysis/import/ranks/rank_results.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::ranks {

// Without measurement_id; ordered by host. A host none of whose ranks ended has no row. The ranks' processor time is
// summed over the host's ranks, and what /proc/stat counts beyond it as user and system time is others'. Ticks of 10 ms
// make a short window's shares coarse: below one second of processor time in all, others_share is left out.
std::vector<store::HostConditionRow> host_conditions(const RankResults& results);

}  // namespace ddpprof::ranks
