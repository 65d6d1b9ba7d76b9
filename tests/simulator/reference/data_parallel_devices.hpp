// One DataParallel step of devices that differ, as a graph (simulator/engine/graph.hpp): a check of the closed form.
//
// Device 0 copies parameters and inputs to every replica, one copy after the other. All replicas compute, and device 0
// waits for the last of them and gathers the outputs. All replicas run backward. Device 0 adds up the gradients and
// runs the optimizer. With equal devices the result is that of simulate(DataParallelStep).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/step/data_parallel.hpp"

namespace ddpprof::step {

struct DataParallelDevicesResult {
  double step_s = 0.0;
  double root_s = 0.0;            // of it, device 0 copies or steps the optimizer while no replica computes
  std::vector<double> waiting_s;  // by device: between its own forward or backward and the last one's, summed
};

// `pace`: for each replica, the time of its forward and backward over the step's; above 0. Throws std::invalid_argument
// as simulate(DataParallelStep) does, for a pace that is not above 0, and if there is not one pace per replica.
DataParallelDevicesResult simulate(const DataParallelStep& step, const std::vector<double>& pace);

}  // namespace ddpprof::step
