// Reads runs that differ from the fits' workload in the batch alone.
#pragma once

#include <vector>

#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

// Sets measured.batches: how long forward and backward take at each batch, of the measurements given and of the
// profiles that `measured` holds already. What cannot be compared is left out with a warning.
void add_batches(SQLite::Database& sql, const std::vector<MeasurementInfo>& others, Measured& measured);

}  // namespace ddpprof::fit
