// Which of a database's measurements the fits rest on, where several workloads share it.
#pragma once

#include <string>
#include <vector>

#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

std::string name_of(const MeasurementInfo&);  // for people

struct Chosen {
  std::vector<MeasurementInfo> of_workload;    // and all benchmarks
  std::vector<MeasurementInfo> other_batches;  // the same but for the batch, where that tells how compute grows with it
};

// Of the workloads the one at the most (strategy, N), of equals the first. Adds a warning that names those that tell
// nothing.
Chosen choose_workload(const std::vector<MeasurementInfo>& all, Measured& measured);

// What a batch's point is compared with: the same number of ranks. On GPUs, which each rank has for itself, all numbers
// of ranks together where none has two batches. Sets `level` of all and drops the points of levels with one batch.
void set_levels(std::vector<BatchPoint>& points, bool own_device);

}  // namespace ddpprof::fit
