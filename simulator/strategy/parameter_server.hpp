// Training with parameter servers: workers push gradients and pull parameters, together or each at its own pace.
//
// Simulated only: ddpprof does not run such a training. Each server holds an even share of the parameters, receives
// over one link and sends over another, and applies the gradients of one worker after the other. A worker's own link
// has the same speed. (Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter Server".)
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::strategy {

struct ParameterServerJob {
  std::vector<double> compute_s;  // of each worker's step: forward and backward
  std::int64_t servers = 1;
  double gradient_bytes = 0.0;  // parameters that come back have the same size
  double apply_s = 0.0;         // one worker's gradients into all parameters, on one server
  collective::Link link;        // of a server, in each direction
  bool asynchronous = false;
  // Steps of each worker. Asynchronous: steps of the slowest worker; the others run as long as it does. Results leave
  // out the first quarter of the time.
  std::int64_t steps = 20;
};

struct ParameterServerOutcome {
  double step_s = 0.0;     // workers over the gradients that are applied in a second
  double exposed_s = 0.0;  // of step_s, beyond workers that wait for nothing
};

// Throws std::invalid_argument for no worker, more servers than workers, fewer than 8 steps, or a figure below 0.
ParameterServerOutcome simulate(const ParameterServerJob&);

}  // namespace ddpprof::strategy
