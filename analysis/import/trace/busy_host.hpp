// When the threads of a rank on CPUs wait for collectives.
#pragma once

#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/ingest/intervals.hpp"

namespace ddpprof::import {

// Returns for each collective that the host executes the time in which all threads of the rank only wait for it: from
// the last operation that began before the collective ended, but not before the call, to the collective's end. Empty
// for a collective that ends while an operation runs. A blocking call is recorded in no other way: PyTorch records
// neither wait() nor the idle time. Returns nothing if the trace has no operation. Finish rank.host_work first.
std::vector<ingest::Interval> waits_for_collectives(const RankTrace&, const std::vector<Collective>&);

}  // namespace ddpprof::import
