// Which of a database's measurements the fits rest on, where several workloads share it.
#pragma once

#include <string>
#include <vector>

#include "analysis/fit/rows.hpp"

namespace ddpprof::fit {

std::string name_of(const MeasurementInfo&);  // for people

// Training measurements of one workload, and all benchmarks: of the workloads the one at the most (strategy, N). Adds a
// doubt that names the others.
std::vector<MeasurementInfo> of_one_workload(const std::vector<MeasurementInfo>& all, Measured& measured);

}  // namespace ddpprof::fit
