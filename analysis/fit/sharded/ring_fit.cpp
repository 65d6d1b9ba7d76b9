#include "analysis/fit/sharded/ring_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double point_error = 0.05;  // of one median time, at least
// Usual share of latency in the shortest time of a hop. Units of FSDP are megabytes, and their bytes take most of it.
constexpr double usual_latency_share = 0.1, usual_latency_sd = 0.4;

// At most this share of the shortest time of a hop is latency: the rest is transfer, whose time is never 0.
constexpr double most_latency_share = 0.99;

double hops(std::int64_t workers, double fixed) { return fixed + static_cast<double>(workers) - 1.0; }

double moved(std::int64_t workers, double bytes) {
  const auto n = static_cast<double>(workers);
  return (n - 1.0) / n * bytes;
}

// Normal equations of Σ t (latency a + per_byte b - 1)², with a = (h + N-1)/t and b = (N-1)/N bytes/t.
struct Sums {
  double fixed;
  double aa = 0.0, ab = 0.0, bb = 0.0, a1 = 0.0, b1 = 0.0;
  double shortest_hop_s = std::numeric_limits<double>::infinity();

  Sums(std::span<const UnitCollectiveTime> points, double h) : fixed(h) {
    for (const UnitCollectiveTime& point : points) {
      if (!(point.seconds > 0.0)) continue;
      const double a = hops(point.workers, h), b = moved(point.workers, point.bytes);
      aa += a * a / point.seconds;
      ab += a * b / point.seconds;
      bb += b * b / point.seconds;
      a1 += a;
      b1 += b;
      shortest_hop_s = std::min(shortest_hop_s, point.seconds / a);
    }
  }

  double determinant() const { return aa * bb - ab * ab; }
  double per_byte(double latency_s) const { return std::max(0.0, (b1 - latency_s * ab) / bb); }

  // The error of the fitted latency if each time has this relative error.
  double latency_variance(std::span<const UnitCollectiveTime> points, double error) const {
    double sum = 0.0;
    for (const UnitCollectiveTime& point : points) {
      if (!(point.seconds > 0.0)) continue;
      const double weight = (bb * hops(point.workers, fixed) - ab * moved(point.workers, point.bytes)) / determinant();
      sum += error * error * weight * weight;
    }
    return sum;
  }
};

double median_error(std::span<const UnitCollectiveTime> points, const RingCost& cost) {
  std::vector<double> errors;
  for (const UnitCollectiveTime& point : points)
    if (point.seconds > 0.0) errors.push_back(std::abs(cost.seconds(point.workers, point.bytes) / point.seconds - 1.0));
  return errors.empty() ? 0.0 : stats::median(errors);
}

RingCost fit_with(std::span<const UnitCollectiveTime> points, double fixed_hops, double largest_latency_s) {
  const Sums sums(points, fixed_hops);
  RingCost cost;
  cost.fixed_hops = fixed_hops;
  if (!(sums.bb > 0.0)) return cost;
  cost.latency_limit_s = std::min(largest_latency_s, most_latency_share * sums.shortest_hop_s);
  cost.bytes_per_latency = sums.bb / sums.ab;
  cost.latency_s = usual_latency_share * cost.latency_limit_s;
  cost.latency_sd_s = usual_latency_sd * cost.latency_limit_s;
  cost.separated = false;
  // Points of one size at one N have no determinant but that of rounding.
  if (sums.determinant() > 1e-9 * sums.aa * sums.bb) {
    RingCost fitted;
    fitted.fixed_hops = fixed_hops;
    fitted.latency_s = (sums.a1 * sums.bb - sums.b1 * sums.ab) / sums.determinant();
    fitted.seconds_per_byte = (sums.b1 * sums.aa - sums.a1 * sums.ab) / sums.determinant();
    const double variance = sums.latency_variance(points, std::max(point_error, median_error(points, fitted)));
    const double usual_variance = cost.latency_sd_s * cost.latency_sd_s;
    const double weight = usual_variance / (usual_variance + variance);
    cost.latency_s = std::clamp(weight * fitted.latency_s + (1.0 - weight) * cost.latency_s, 0.0, cost.latency_limit_s);
    cost.latency_sd_s *= std::sqrt(1.0 - weight);
    cost.separated = weight > 0.5;
  }
  cost.seconds_per_byte = sums.per_byte(cost.latency_s);
  cost.error = median_error(points, cost);
  return cost;
}

}  // namespace

double RingCost::seconds(std::int64_t workers, double bytes) const {
  if (workers <= 1) return 0.0;
  return hops(workers, fixed_hops) * latency_s + moved(workers, bytes) * seconds_per_byte;
}

RingCost RingCost::with_latency(double z) const {
  RingCost changed = *this;
  changed.latency_s = std::clamp(latency_s + z * latency_sd_s, 0.0, latency_limit_s);
  if (bytes_per_latency > 0.0)
    changed.seconds_per_byte = std::max(0.0, seconds_per_byte + (latency_s - changed.latency_s) / bytes_per_latency);
  return changed;
}

RingCost RingCost::with_fixed_hops(double h, std::int64_t workers) const {
  RingCost changed = *this;
  changed.fixed_hops = h;
  if (workers > 1) changed.latency_s *= hops(workers, fixed_hops) / hops(workers, h);
  return changed;
}

RingCost fit_ring(std::span<const UnitCollectiveTime> points, double largest_latency_s) {
  if (points.empty()) return {};
  const auto [fewest, most] = std::ranges::minmax(points, {}, &UnitCollectiveTime::workers);
  if (fewest.workers == most.workers) {
    RingCost cost = fit_with(points, usual_fixed_hops, largest_latency_s);
    cost.fixed_hops_known = false;
    return cost;
  }
  RingCost best = fit_with(points, 0.0, largest_latency_s);
  for (const double fixed : {1.0, 3.0, 10.0, 30.0, 100.0}) {
    const RingCost other = fit_with(points, fixed, largest_latency_s);
    if (other.error < best.error) best = other;
  }
  return best;
}

RingCost scaled(const RingCost& cost, const RingCalls& all) {
  const double fitted_s =
      all.calls * cost.seconds(all.workers, 0.0) + moved(all.workers, all.bytes) * cost.seconds_per_byte;
  if (!(fitted_s > 0.0 && all.seconds > 0.0 && all.bytes > 0.0 && all.calls > 0.0)) return cost;
  const double factor = all.seconds / fitted_s;
  RingCost result = cost;
  for (double* value : {&result.latency_s, &result.seconds_per_byte, &result.latency_sd_s, &result.latency_limit_s})
    *value *= factor;
  result.error = std::hypot(cost.error, std::log(factor));
  return result;
}

}  // namespace ddpprof::fit
