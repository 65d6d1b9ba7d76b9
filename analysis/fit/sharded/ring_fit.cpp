#include "analysis/fit/sharded/ring_fit.hpp"

#include <cmath>
#include <vector>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {

RingCost fit_ring(std::span<const UnitCollectiveTime> points) {
  // Normal equations of Σ t (latency a + per_byte b - 1)², with a = (N-1)/t and b = (N-1)/N bytes/t.
  double aa = 0.0, ab = 0.0, bb = 0.0, a1 = 0.0, b1 = 0.0;
  for (const UnitCollectiveTime& point : points) {
    if (!(point.seconds > 0.0)) continue;
    const auto n = static_cast<double>(point.workers);
    const double a = (n - 1.0) / point.seconds, b = (n - 1.0) / n * point.bytes / point.seconds;
    aa += point.seconds * a * a;
    ab += point.seconds * a * b;
    bb += point.seconds * b * b;
    a1 += point.seconds * a;
    b1 += point.seconds * b;
  }
  RingCost cost;
  if (!(bb > 0.0)) return cost;
  constexpr double least_determinant =
      0.01;  // sizes that differ by less than about a quarter do not separate the terms
  const double determinant = aa * bb - ab * ab;
  cost.separated = determinant > least_determinant * aa * bb;
  if (cost.separated) {
    cost.latency_s = (a1 * bb - b1 * ab) / determinant;
    cost.seconds_per_byte = (b1 * aa - a1 * ab) / determinant;
  }
  if (!cost.separated || cost.latency_s < 0.0) cost = {0.0, b1 / bb, 0.0, false};
  if (cost.seconds_per_byte < 0.0) cost = {a1 / aa, 0.0, 0.0, false};
  std::vector<double> errors;
  for (const UnitCollectiveTime& point : points)
    if (point.seconds > 0.0) errors.push_back(std::abs(cost.seconds(point.workers, point.bytes) / point.seconds - 1.0));
  cost.error = stats::median(errors);
  return cost;
}

RingCost scaled(const RingCost& cost, const RingCalls& all, std::optional<double> latency_share) {
  const auto n = static_cast<double>(all.workers);
  const double latency_s = all.calls * (n - 1.0) * cost.latency_s;
  const double fitted_s = latency_s + (n - 1.0) / n * all.bytes * cost.seconds_per_byte;
  if (!(fitted_s > 0.0 && all.seconds > 0.0 && all.bytes > 0.0 && all.calls > 0.0)) return cost;
  const double share = latency_share.value_or(latency_s / fitted_s);
  RingCost result = cost;
  result.latency_s = share * all.seconds / (all.calls * (n - 1.0));
  result.seconds_per_byte = (1.0 - share) * all.seconds / ((n - 1.0) / n * all.bytes);
  result.error = std::hypot(cost.error, std::log(all.seconds / fitted_s));
  return result;
}

}  // namespace ddpprof::fit
