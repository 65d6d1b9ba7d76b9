// One DataParallel step of devices that differ, as a graph (engine/graph.hpp), and the memory that each device needs.
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

struct DataParallelMemory {
  double device_0_bytes = 0.0;
  double other_bytes = 0.0;  // of each other device
};

// Memory at the peak, which is at the end of the forward. Every device holds parameters, gradients of the same size,
// its activations, inputs and outputs. Device 0 also holds the optimizer's state, the whole batch from before the
// scatter and the outputs of all replicas: P + P + optimizer + activations + N inputs + N outputs. Each other device
// holds P + P + activations + inputs + outputs. Buffers of a running copy are not counted. Throws std::invalid_argument
// for a value below 0 or no replica.
DataParallelMemory memory(const DataParallelStep& step, double optimizer_bytes, double activation_bytes);

}  // namespace ddpprof::step
