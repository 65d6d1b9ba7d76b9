// N workers compared with one: throughput, speedup, efficiency, and the N at which communication dominates.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace ddpprof::scaling {

// All throw std::invalid_argument when a time, a throughput or a count is not positive.

// Samples a second of `workers` workers that each train on `samples_per_worker` in a step.
double throughput(std::int64_t workers, double samples_per_worker, double step_s);

// throughput(N) / throughput(1): N is perfect.
double speedup(double throughput, double throughput_of_one);

// Weak scaling, the batch a worker fixed: throughput(N) / (N throughput(1)).
double weak_efficiency(std::int64_t workers, double throughput, double throughput_of_one);

// Strong scaling, the global batch fixed: T(1) / (N T(N)).
double strong_efficiency(std::int64_t workers, double step_s, double step_of_one_s);

struct ScalingPoint {
  std::int64_t workers = 1;
  double step_s = 0.0;
  double exposed_s = 0.0;  // communication that compute does not hide
};

// Shares of exposed communication for which knees are searched. Above the last share, a step is communication-bound.
inline constexpr std::array knee_shares = {0.1, 0.25, 0.5};
inline constexpr double communication_bound_share = knee_shares.back();

// The knee: the smallest N whose exposed communication exceeds `share` of its step; nothing if no point exceeds it.
// Points may come in any order.
std::optional<std::int64_t> knee(std::span<const ScalingPoint> points, double share);

}  // namespace ddpprof::scaling
