// The measurements that the fits use if several workloads share a database.
#pragma once

#include <string>
#include <vector>

#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

std::string name_of(const MeasurementInfo&);  // for people

struct Chosen {
  std::vector<MeasurementInfo> of_workload;    // and all benchmarks
  std::vector<MeasurementInfo> other_batches;  // differ in the batch alone and show how compute grows with it
};

// Picks most_measured_workload. Adds a warning that names the measurements that are not used.
Chosen choose_workload(const std::vector<MeasurementInfo>& all, Measured& measured);

// Sets `level` of all points and drops the points of levels with one batch. Points of one level are compared with each
// other: those with the same number of ranks. On GPUs, which each rank has for itself, all numbers of ranks form one
// level if none of them has two batches.
void set_levels(std::vector<BatchPoint>& points, bool own_device);

}  // namespace ddpprof::fit
