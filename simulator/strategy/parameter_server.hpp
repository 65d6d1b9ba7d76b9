// Training through parameter servers: workers push gradients and pull parameters, together or each at its own pace.
//
// Simulated only: no such training is run here. Each server holds an even share of the parameters, takes what comes in
// over one link and sends over another, and applies one worker's gradients after the other's. A worker's own link is as
// fast. (Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server".)
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::strategy {

struct ParameterServerJob {
  std::vector<double> compute_s;  // of each worker's step: forward and backward
  std::int64_t servers = 1;
  double gradient_bytes = 0.0;  // and as many of parameters come back
  double apply_s = 0.0;         // one worker's gradients into all parameters, on one server
  collective::Link link;        // of a server, in each direction
  bool asynchronous = false;
  // Of each worker; asynchronous, of the slowest one, and the others as many as fit beside. Figures leave out the first
  // quarter of the time.
  std::int64_t steps = 20;
};

struct ParameterServerOutcome {
  double step_s = 0.0;               // workers over gradients_per_s
  double gradients_per_s = 0.0;      // applied, of all workers
  double exposed_s = 0.0;            // of step_s, beyond workers that wait for nothing
  double mean_staleness = 0.0;       // updates by others between a worker's read of the parameters and its own update
  std::int64_t most_staleness = 0;   // 0 when synchronous
  double server_bytes_per_step = 0;  // in and out of one server, while every worker does one step
};

// Throws std::invalid_argument for no worker, more servers than workers, fewer than 8 steps, or a figure below 0.
ParameterServerOutcome simulate(const ParameterServerJob&);

}  // namespace ddpprof::strategy
