// Cost of an all-gather or a reduce-scatter as a function of ranks and bytes, fitted to measured times.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "analysis/fit/sharded/sharded_job.hpp"

namespace ddpprof::fit {

// A ring: (h + N-1) latency_s + (N-1)/N bytes seconds_per_byte. A call takes as long as h hops beside those of its
// ring. An all-reduce that serves as a reduce-scatter has the same form with twice the bandwidth term.
struct RingCost {
  double latency_s = 0.0, seconds_per_byte = 0.0;
  double fixed_hops = 0.0;  // h
  double error = 0.0;       // median |fitted / measured - 1|
  // The standard deviation of the latency, its upper limit, and the bytes that a second of latency replaces.
  double latency_sd_s = 0.0, latency_limit_s = 0.0, bytes_per_latency = 0.0;
  bool separated = true;         // false: the latency is a usual share of the time: the points do not determine it
  bool fixed_hops_known = true;  // false: one N was measured, and h is usual_fixed_hops

  double seconds(std::int64_t workers, double bytes) const;
  // Returns the fit in which the latency differs by z standard deviations, within its limits.
  RingCost with_latency(double z) const;
  // Returns the fit with another h and the same times at `workers`.
  RingCost with_fixed_hops(double h, std::int64_t workers) const;
};

// NCCL's latencies of a call are 0.6 to 11 times those of a hop (its source, tuning.cc, protocols LL, LL128 and Simple
// over NVLink and networks), in the middle about 3. `fixed_hops_range`: a factor on it.
inline constexpr double usual_fixed_hops = 3.0, fixed_hops_range = 30.0;

// Least squares, each error relative to the root of the measured time, so that long calls count more. The latency is
// the fitted one, combined by their variances with a usual share of the shortest measured time: points of one size at
// one N have that share. It is at most `largest_latency_s` and at most nine tenths of the shortest measured time, so
// that the bandwidth term is above 0. Points of several N select h. Zero cost without points.
RingCost fit_ring(std::span<const UnitCollectiveTime>,
                  double largest_latency_s = std::numeric_limits<double>::infinity());

// All calls of a step.
struct RingCalls {
  std::int64_t workers = 1;
  double calls = 0.0, bytes = 0.0, seconds = 0.0;
};

// Returns the cost with which the calls take their measured time. It divides into latency and bandwidth as before. The
// error includes the change. Returns the cost itself for calls without time or bytes, or of one rank.
RingCost scaled(const RingCost&, const RingCalls&);

}  // namespace ddpprof::fit
