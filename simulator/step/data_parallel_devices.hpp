// One DataParallel step of devices that differ, on the graph (engine/graph.hpp), and what each of them has to hold.
//
// Device 0 copies parameters and inputs to every replica, one copy after the other; all replicas compute, and device 0
// waits for the last of them; it gathers the outputs, all go backward, it adds up the gradients and steps the
// optimizer. Where devices are alike it gives what simulate(DataParallelStep) gives.
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

// `pace`: one a replica, above 0; its forward and backward take so many times the step's. Throws std::invalid_argument
// as simulate(DataParallelStep) does, and for a pace that is not above 0 or a number of them that is not `replicas`.
DataParallelDevicesResult simulate(const DataParallelStep& step, const std::vector<double>& pace);

struct DataParallelMemory {
  double device_0_bytes = 0.0;
  double other_bytes = 0.0;  // of each other device
};

// At the peak, when the forward has ended. Every device holds parameters, gradients as large, its activations, inputs
// and outputs. Device 0 holds the optimizer's state, the whole batch from before the scatter and everybody's outputs
// besides: P + P + optimizer + activations + N inputs + N outputs; one of several devices P + P + activations + inputs
// + outputs. Buffers of a copy under way are left out. Throws std::invalid_argument for a figure below 0 or no replica.
DataParallelMemory memory(const DataParallelStep& step, double optimizer_bytes, double activation_bytes);

}  // namespace ddpprof::step
