// The N at which communication dominates a step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace ddpprof::scaling {

struct ScalingPoint {
  std::int64_t workers = 1;
  double step_s = 0.0;
  double exposed_s = 0.0;  // communication that compute does not hide
};

// Shares of exposed communication for which knees are searched. Above the last share, a step is communication-bound.
inline constexpr std::array knee_shares = {0.1, 0.25, 0.5};
inline constexpr double communication_bound_share = knee_shares.back();

// The knee: the smallest N whose exposed communication exceeds `share` of its step; nothing if no point exceeds it.
// Points may come in any order. Throws std::invalid_argument if the share or a step is not positive.
std::optional<std::int64_t> knee(std::span<const ScalingPoint> points, double share);

}  // namespace ddpprof::scaling
