// Cost of an all-gather or a reduce-scatter as a function of ranks and bytes, fitted to measured times.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/fit/sharded/sharded_job.hpp"

namespace ddpprof::fit {

// A ring: (N-1) latency_s + (N-1)/N bytes seconds_per_byte. An all-reduce that serves as a reduce-scatter has the same
// form with twice the bandwidth term.
struct RingCost {
  double latency_s = 0.0, seconds_per_byte = 0.0;
  double error = 0.0;     // median |fitted / measured - 1|
  bool separated = true;  // false: the points do not determine how the cost divides into latency and bandwidth

  double seconds(std::int64_t workers, double bytes) const {
    const auto n = static_cast<double>(workers);
    return (n - 1.0) * latency_s + (n - 1.0) / n * bytes * seconds_per_byte;
  }
};

// Least squares, each error relative to the root of the measured time, so that long calls count more. Neither term is
// below 0. With one size at one N the latency is 0. Zero cost without points.
RingCost fit_ring(std::span<const UnitCollectiveTime>);

// All calls of a step.
struct RingCalls {
  std::int64_t workers = 1;
  double calls = 0.0, bytes = 0.0, seconds = 0.0;
};

// Returns the cost with which the calls take their measured time. It divides into latency and bandwidth as before, or
// by the given share of latency (0 to 1). The error includes the change. Returns the cost itself for calls without time
// or bytes, or of one rank.
RingCost scaled(const RingCost&, const RingCalls&, std::optional<double> latency_share = std::nullopt);

}  // namespace ddpprof::fit
