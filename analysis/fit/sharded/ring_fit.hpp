// Cost of an all-gather or a reduce-scatter as a function of ranks and bytes, fitted to measured times.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/fit/sharded/sharded_job.hpp"

namespace ddpprof::fit {

// A ring: (N-1) latency_s + (N-1)/N bytes seconds_per_byte. An all-reduce that serves as a reduce-scatter has the same
// form with twice the bandwidth term.
struct RingCost {
  double latency_s = 0.0, seconds_per_byte = 0.0;
  double error = 0.0;  // median |fitted / measured - 1|

  double seconds(std::int64_t workers, double bytes) const {
    const auto n = static_cast<double>(workers);
    return (n - 1.0) * latency_s + (n - 1.0) / n * bytes * seconds_per_byte;
  }
};

// Least squares of relative errors; neither term is below 0. With one size the latency is 0. Zero cost without points.
RingCost fit_ring(std::span<const UnitCollectiveTime>);

}  // namespace ddpprof::fit
