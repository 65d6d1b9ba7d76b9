#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/fit/nccl_tests/collective_series.hpp"
#include "analysis/predict/step_model/node_links.hpp"
#include "analysis/predict/step_model/what_if.hpp"
#include "simulator/collective/curve.hpp"

namespace ddpprof::fit {

struct PredictOptions {
  std::vector<std::int64_t> workers = {8, 16, 32, 64};
  // Ranks per host. 0: on a CPU all on one host; GPUs: as many as were measured on a host, at least
  // usual_gpus_per_node. If several hosts were measured, as many ranks per host as there.
  std::int64_t gpus_per_node = 0;
  NodeLinks inter_node = collective::usual_node_links();  // used if no measurement shows a link between nodes
  double confidence = 0.9;                                // of the intervals
  // true: every rank has the cores that one rank has at N = 1. false: all ranks share this machine's cores.
  bool dedicated = false;
  // All-reduces measured elsewhere, as read from an nccl-tests log. They replace the fitted links.
  std::vector<collective::Curve> all_reduce;
  // All-gathers and reduce-scatters measured elsewhere. They replace the fitted links of sharded trainings.
  std::vector<CollectiveRun> shard_collectives;
  std::optional<std::int64_t> global_batch;  // of strong scaling; not set: that of the largest measured N
  WhatIf what_if;                            // predicted in addition to the job as measured
  int draws = 400;                           // of the Monte Carlo simulation behind each interval
  std::uint64_t seed = 1;
};

}  // namespace ddpprof::fit
