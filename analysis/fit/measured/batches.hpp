// Reads runs that differ from the fits' workload in the batch alone.
#pragma once

#include <vector>

#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

// Sets measured.batches: the times of forward and backward at each batch, from the given measurements and from the
// profiles in `measured`. Measurements that cannot be compared are not used, with a warning.
void add_batches(SQLite::Database& sql, const std::vector<MeasurementInfo>& others, Measured& measured);

}  // namespace ddpprof::fit
