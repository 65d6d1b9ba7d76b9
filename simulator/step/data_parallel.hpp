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
  double own_copy = 0.0;         // time of replica 0's copies, which stay on device 0, over another replica's: 0 to 1
  double copy_overhead_s = 0.0;  // fixed cost of each of the four copies, per replica
  double data_s = 0.0;
  double forward_s = 0.0;  // slowest replica's, while all of them run
  double backward_s = 0.0;
  double optimizer_s = 0.0;  // on device 0 alone
};

struct DataParallelResult {
  double step_s = 0.0;
  double compute_s = 0.0;    // forward + backward + optimizer
  double copies_s = 0.0;     // the four below
  double overhead_s = 0.0;   // the part of copies_s that does not depend on bytes
  double replicate_s = 0.0;  // P (N-1 + own) / B_root
  double scatter_s = 0.0;    // (N-1 + own) inputs / B_root
  double gather_s = 0.0;     // (N-1 + own) outputs, to the root
  double reduce_s = 0.0;     // P (N-1 + own), to the root
};

// One replica copies nothing: PyTorch's DataParallel on one device calls the module itself. Throws
// std::invalid_argument if replicas < 1 or a value is negative.
DataParallelResult simulate(const DataParallelStep&);

}  // namespace ddpprof::step
