// Learning rates as trained, as a table.
#pragma once

#include <string>
#include <vector>

#include "analysis/metrics/trained_rates.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// `plan`: description of the planned rates.
Table trained_rates_table(const std::vector<metrics::TrainedRates>&, const std::string& plan);

}  // namespace ddpprof::report
