// The workload of a measurement, and the rule that picks one workload of a database that holds several.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::fit {

// The properties that must be equal before the times of two measurements may be compared.
struct WorkloadKey {
  std::string model;
  std::int64_t batch_per_worker = 0;  // samples of one micro-batch
  std::int64_t accumulation = 1;      // micro-batches of one step
  std::string precision;
  std::string device;

  // Returns the same workload with batch_per_worker 0: equal for workloads that differ in the batch alone.
  WorkloadKey without_batch() const;
  // Returns the key for messages: "cnn, batch 32 per worker × 4, fp32, cpu".
  std::string text() const;

  friend auto operator<=>(const WorkloadKey&, const WorkloadKey&) = default;
};

// One measurement of a workload.
struct WorkloadMeasurement {
  WorkloadKey workload;
  std::string strategy;
  std::int64_t workers = 1;
  std::int64_t id = 0;
};

// Returns the workload that was measured at the most different pairs (strategy, workers). Ties go to the workload with
// the smallest measurement id. Returns nothing for an empty list.
std::optional<WorkloadKey> most_measured_workload(const std::vector<WorkloadMeasurement>&);

}  // namespace ddpprof::fit
