// Strong scaling: the step of a fixed global batch, which N workers divide among themselves.
//
// The batch of a worker is global batch / (N · accumulation), and accumulation stays as measured. How compute changes
// with the batch is measured, not assumed: a batch outside of the measured batches is refused. A measured configuration
// has its measured step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ddpprof::fit {

class Predictor;

struct StrongPoint {
  std::int64_t workers = 1;
  std::int64_t batch_per_worker = 0;               // of one micro-batch; 0 if the global batch cannot be divided
  double step_s = 0.0, low_s = 0.0, high_s = 0.0;  // 0 if refused
  double confidence = 0.0;                         // of the interval
  double throughput = 0.0;                         // samples/s
  std::string refusal;                             // empty if predicted
};

struct StrongScaling {
  std::string strategy;
  std::int64_t global_batch = 0;  // samples of one step of all workers
  std::int64_t accumulation = 1;
  std::vector<StrongPoint> points;  // by N
};

// Returns the steps at these worker counts. `global_batch`: nullopt is that of the largest measured N. Throws
// std::invalid_argument if it is below 1, or if the samples of a step were not recorded.
StrongScaling strong_scaling(const Predictor&, std::span<const std::int64_t> workers,
                             std::optional<std::int64_t> global_batch = std::nullopt);

// Returns true if several batches of a worker were measured and one law describes them.
bool batches_measured(const Predictor&);

}  // namespace ddpprof::fit
