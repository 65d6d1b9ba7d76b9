#include "analysis/predict/sharded/fitted_ring.hpp"

#include <algorithm>
#include <limits>

namespace ddpprof::fit {
namespace {

constexpr double largest_device_latency_s = 200e-6;  // of a hop; NCCL's own constants are below 20e-6

}  // namespace

double transfer_s(const UnitCollectives& calls) { return std::max(0.0, calls.duration_s - calls.skew_s); }

FittedRing fitted_ring(const std::vector<UnitCollectiveTime>& points, const ShardedRanks& base,
                       UnitCollectives UnitTimes::*kind, std::int64_t group, bool on_device) {
  RingCalls calls;
  calls.workers = group;
  for (const UnitTimes& unit : base.units) {
    const UnitCollectives& of_unit = unit.*kind;
    calls.calls += of_unit.calls;
    calls.bytes += static_cast<double>(of_unit.bytes);
    calls.seconds += transfer_s(of_unit);
  }
  const double limit_s = on_device ? largest_device_latency_s : std::numeric_limits<double>::infinity();
  const RingCost cost = scaled(fit_ring(points, limit_s), calls);
  return {cost, calls, cost.seconds_per_byte};
}

RingCost FittedRing::drawn(std::int64_t workers, double z, const ShardedDraw& draw) const {
  RingCost drawn = z == 0.0 ? cost : scaled(cost.with_latency(z), calls);
  if (!cost.fixed_hops_known) drawn = drawn.with_fixed_hops(draw.fixed_hops, calls.workers);
  if (workers != calls.workers && drawn.seconds_per_byte > link_s_per_byte)
    drawn.seconds_per_byte = link_s_per_byte + draw.excess * (drawn.seconds_per_byte - link_s_per_byte);
  return drawn;
}

}  // namespace ddpprof::fit
