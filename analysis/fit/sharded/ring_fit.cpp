#include "analysis/fit/sharded/ring_fit.hpp"

#include <cmath>
#include <vector>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {

RingCost fit_ring(std::span<const UnitCollectiveTime> points) {
  // Normal equations of Σ (latency a + per_byte b - 1)², with a = (N-1)/t and b = (N-1)/N bytes/t.
  double aa = 0.0, ab = 0.0, bb = 0.0, a1 = 0.0, b1 = 0.0;
  for (const UnitCollectiveTime& point : points) {
    if (!(point.seconds > 0.0)) continue;
    const auto n = static_cast<double>(point.workers);
    const double a = (n - 1.0) / point.seconds, b = (n - 1.0) / n * point.bytes / point.seconds;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  RingCost cost;
  if (!(bb > 0.0)) return cost;
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-9 * aa * bb) {
    cost.latency_s = (a1 * bb - b1 * ab) / determinant;
    cost.seconds_per_byte = (b1 * aa - a1 * ab) / determinant;
  } else {
    cost.seconds_per_byte = b1 / bb;
  }
  if (cost.latency_s < 0.0) cost = {0.0, b1 / bb, 0.0};
  if (cost.seconds_per_byte < 0.0) cost = {a1 / aa, 0.0, 0.0};
  std::vector<double> errors;
  for (const UnitCollectiveTime& point : points)
    if (point.seconds > 0.0) errors.push_back(std::abs(cost.seconds(point.workers, point.bytes) / point.seconds - 1.0));
  cost.error = stats::median(errors);
  return cost;
}

}  // namespace ddpprof::fit
