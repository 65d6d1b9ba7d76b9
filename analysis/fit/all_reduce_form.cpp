#include "analysis/fit/all_reduce_form.hpp"

#include <algorithm>
#include <cmath>

namespace ddpprof::fit {
namespace {

// Returns the curve with the nearest number of ranks, in the logarithm.
const collective::Curve& nearest_curve(const std::vector<collective::Curve>& curves, std::int64_t workers) {
  const auto apart = [workers](const collective::Curve& curve) {
    return std::abs(std::log(static_cast<double>(curve.ranks()) / static_cast<double>(workers)));
  };
  return *std::min_element(curves.begin(), curves.end(),
                           [&](const auto& a, const auto& b) { return apart(a) < apart(b); });
}

}  // namespace

std::string Form::name() const {
  if (curves) return "measured-curve";
  if (regimes) return "nccl-regimes";
  const std::string base = segmented ? "gloo-segmented-ring" : "ring";
  switch (sharing) {
    case HostSharing::proportional:
      return base + "-shared-cores";
    case HostSharing::time_shared:
      return base + "-time-shared";
    case HostSharing::none:
      break;
  }
  return base;
}

bool Form::across_hosts(std::int64_t workers) const { return curves && nearest_curve(*curves, workers).hosts() > 1; }

bool Form::of_one_host(std::int64_t workers) const { return curves && nearest_curve(*curves, workers).hosts() == 1; }

bool Form::inside_host(const Machine& machine) const {
  return machine.nodes == 1 && machine.workers <= ranks_inside && across_hosts(machine.workers);
}

double Form::hop_unit_s(std::int64_t workers) const {
  if (regimes) return regimes->hop_unit(workers);
  return curves ? nearest_curve(*curves, workers).hop_s() : 1.0;
}

double Form::byte_unit_s(std::int64_t workers) const {
  if (regimes) return regimes->byte_unit(workers);
  return curves ? nearest_curve(*curves, workers).byte_s() : 1.0;
}

collective::Link Form::shared(const collective::Link& link, const Crowd& crowd) const {
  collective::Link shared = link;
  if (sharing == HostSharing::time_shared) {
    const double waiting = std::max(0.0, crowd.ranks_per_core - 1.0);
    if (waiting > 0.0) shared.latency_s += crowd.switch_s * std::pow(waiting, crowd.switch_exponent);
    const double slower = std::pow(1.0 + std::pow(crowd.core_share * crowd.ranks_per_core, 4.0), 0.25);
    shared.bandwidth_s_per_byte *= slower;
    shared.reduction_s_per_byte *= slower;
  }
  if (sharing == HostSharing::proportional) shared = std::max(1.0, crowd.ranks_per_core) * link;
  return shared;
}

collective::Hops Form::hops(std::int64_t workers, std::int64_t bytes) const {
  if (curves) {
    // Hops enter a cost as count alpha + count bytes beta: with factors for alpha and beta, count is all latency.
    const collective::Cost cost = nearest_curve(*curves, workers).cost(static_cast<double>(bytes), workers);
    const double count = std::max(cost.latency_s, 1e-30);
    return {count, cost.bandwidth_s / count};
  }
  if (regimes) return regimes->hops(workers, bytes);
  return segmented ? collective::gloo_segmented_ring_hops(workers, bytes)
                   : collective::ring_hops(workers, static_cast<double>(bytes));
}

collective::Cost Form::cost(std::int64_t workers, std::int64_t bytes, const collective::Link& link,
                            const Crowd& crowd) const {
  return over(workers, bytes, shared(link, crowd));
}

collective::Cost Form::over(std::int64_t workers, std::int64_t bytes, const collective::Link& link) const {
  if (curves) {
    const collective::Cost cost = nearest_curve(*curves, workers).cost(static_cast<double>(bytes), workers);
    return {link.latency_s * cost.latency_s, link.bandwidth_s_per_byte * cost.bandwidth_s, 0.0};
  }
  if (regimes) {
    const collective::Hops hops = regimes->hops(workers, bytes);
    return {hops.count * link.latency_s, hops.count * hops.bytes * link.bandwidth_s_per_byte, 0.0};
  }
  return segmented ? collective::gloo_segmented_ring(workers, bytes, link)
                   : collective::ring(workers, static_cast<double>(bytes), link);
}

double ranks_per_core(const Machine& machine) {
  return static_cast<double>(machine.ranks_per_machine()) / static_cast<double>(machine.cores);
}

}  // namespace ddpprof::fit
