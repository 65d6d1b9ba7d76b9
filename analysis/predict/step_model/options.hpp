#pragma once

#include <cstdint>
#include <vector>

#include "analysis/predict/step_model/what_if.hpp"
#include "simulator/collective/curve.hpp"

namespace ddpprof::fit {

struct PredictOptions {
  std::vector<std::int64_t> workers = {8, 16, 32, 64};
  std::int64_t gpus_per_node = 0;  // ranks per host; 0: all on one host
  double confidence = 0.9;         // of the intervals
  // true: every rank has the cores that one rank has at N = 1. false: all ranks share this machine's cores.
  bool dedicated = false;
  // All-reduces measured elsewhere, as read from an nccl-tests log. They replace the fitted links.
  std::vector<collective::Curve> all_reduce;
  WhatIf what_if;   // predicted in addition to the job as measured
  int draws = 400;  // of the Monte Carlo simulation behind each interval
  std::uint64_t seed = 1;
};

}  // namespace ddpprof::fit
