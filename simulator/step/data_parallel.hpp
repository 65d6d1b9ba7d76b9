// One DataParallel step: one process, N replicas in threads, every copy through device 0, nothing overlapped.
#pragma once

#include <cstdint>

namespace ddpprof::step {

struct DataParallelStep {
  std::int64_t replicas = 1;
  double parameter_bytes = 0.0;     // P: trained parameters; gradients have the same size
  double input_bytes = 0.0;         // of one replica's share of the batch
  double output_bytes = 0.0;        // of one replica's outputs
  double root_s_per_byte = 0.0;     // 1 / B_root: from device 0 to any other device
  double to_root_s_per_byte = 0.0;  // from any other device to device 0, adding up included; often the same
  double own_copy = 0.0;  // time per byte of replica 0's copies, which stay on device 0, over that of another replica's
  double copy_overhead_s = 0.0;  // fixed cost of each of the four copies, per replica
  double data_s = 0.0;
  double forward_s = 0.0;  // slowest replica's, while all of them run
  double backward_s = 0.0;
  double optimizer_s = 0.0;  // on device 0 alone
};

struct DataParallelResult {
  double step_s = 0.0;
  double compute_s = 0.0;   // forward + backward + optimizer
  double copies_s = 0.0;    // the four below
  double overhead_s = 0.0;  // the part of copies_s that does not depend on bytes
  // Each is N copy_overhead_s, plus (N-1 + own_copy) times:
  double replicate_s = 0.0;  // P / B_root
  double scatter_s = 0.0;    // inputs / B_root
  double gather_s = 0.0;     // outputs, towards the root
  double reduce_s = 0.0;     // P, towards the root
};

// One replica copies nothing: PyTorch's DataParallel on one device calls the module itself. Throws
// std::invalid_argument if replicas < 1 or a value is negative.
DataParallelResult simulate(const DataParallelStep&);

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
