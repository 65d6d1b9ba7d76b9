// Predictions of collectives alone at other numbers of ranks, from sweeps of nccl-tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/nccl_tests/collective_series.hpp"

namespace ddpprof::fit {

struct CollectiveQuestion {
  std::vector<std::int64_t> workers;
  std::optional<std::int64_t> gpus_per_node;  // 0 or empty: the most ranks per host of the sweeps
  double confidence = 0.9;
};

struct CollectivePrediction {
  std::string op;
  std::int64_t ranks = 0, hosts = 1, bytes = 0;
  CollectiveTime time;         // 0 if it is not predicted
  double extrapolation = 1.0;  // ranks over the most measured ranks of this collective
  std::string note;            // why it is not predicted, or what makes its interval wide
};

// Returns a row for each collective, number of ranks and measured size, or one row with the reason. Throws
// std::invalid_argument for fewer than two ranks.
std::vector<CollectivePrediction> predict_collectives(const std::vector<CollectiveRun>&, const CollectiveQuestion&);

}  // namespace ddpprof::fit
