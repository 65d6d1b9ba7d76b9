#include "analysis/fit/all_reduce_form.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ddpprof::fit {
namespace {

double log_distance(double a, double b) { return std::abs(std::log(a / b)); }

double ranks_of_host(const collective::Curve& curve) {
  return static_cast<double>(curve.ranks()) / static_cast<double>(std::max<std::int64_t>(1, curve.hosts()));
}

std::int64_t most_ranks_of_host(const std::vector<collective::Curve>& curves) {
  std::int64_t most = 0;
  for (const collective::Curve& curve : curves)
    if (curve.hosts() > 0) most = std::max(most, (curve.ranks() + curve.hosts() - 1) / curve.hosts());
  return most;
}

// Returns the curve that is nearest in the logarithm: across hosts first by ranks per host, then by ranks. Links inside
// a host and between hosts are different links, so a curve of the machine's kind comes first; a curve whose hosts are
// unknown is of both kinds, and beside it ranks alone count. More ranks than a host of the curves has may be on several
// hosts that were not stated.
const collective::Curve& nearest_curve(const std::vector<collective::Curve>& curves, const Machine& machine) {
  const bool across = machine.nodes > 1, inside = !across && machine.workers <= most_ranks_of_host(curves);
  const bool hosts_known = std::ranges::none_of(curves, [](const collective::Curve& one) { return one.hosts() == 0; });
  const auto distance = [&](const collective::Curve& curve) {
    const bool other_kind = (across && curve.hosts() == 1) || (inside && curve.hosts() > 1);
    return std::tuple(other_kind,
                      across && hosts_known ? log_distance(ranks_of_host(curve), static_cast<double>(machine.workers) /
                                                                                     static_cast<double>(machine.nodes))
                                            : 0.0,
                      log_distance(static_cast<double>(curve.ranks()), static_cast<double>(machine.workers)));
  };
  return *std::min_element(curves.begin(), curves.end(),
                           [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
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

bool Form::across_hosts(const Machine& machine) const { return curves && nearest_curve(*curves, machine).hosts() > 1; }

bool Form::of_one_host(const Machine& machine) const { return curves && nearest_curve(*curves, machine).hosts() == 1; }

std::int64_t Form::most_ranks_of_a_host() const { return curves ? most_ranks_of_host(*curves) : 0; }

bool Form::inside_host(const Machine& machine) const { return inside && machine.nodes == 1 && across_hosts(machine); }

const Form& Form::used_on(const Machine& machine) const { return inside_host(machine) ? *inside : *this; }

double Form::hop_unit_s(const Machine& machine) const {
  if (inside_host(machine)) return inside->hop_unit_s(machine);
  if (regimes) return regimes->hop_unit(machine.workers);
  return curves ? nearest_curve(*curves, machine).hop_s() : 1.0;
}

double Form::byte_unit_s(const Machine& machine) const {
  if (inside_host(machine)) return inside->byte_unit_s(machine);
  if (regimes) return regimes->byte_unit(machine.workers);
  return curves ? nearest_curve(*curves, machine).byte_s() : 1.0;
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

collective::Hops Form::hops(const Machine& machine, std::int64_t bytes) const {
  if (inside_host(machine)) return inside->hops(machine, bytes);
  const std::int64_t workers = machine.workers;
  if (curves) {
    // Hops enter a cost as count alpha + count bytes beta: with factors for alpha and beta, count is all latency.
    const collective::Cost cost = nearest_curve(*curves, machine).cost(static_cast<double>(bytes), workers);
    const double count = std::max(cost.latency_s, 1e-30);
    return {count, cost.bandwidth_s / count};
  }
  if (regimes) return regimes->hops(workers, bytes);
  return segmented ? collective::gloo_segmented_ring_hops(workers, bytes)
                   : collective::ring_hops(workers, static_cast<double>(bytes));
}

collective::Cost Form::cost(const Machine& machine, std::int64_t bytes, const collective::Link& link,
                            const Crowd& crowd) const {
  return over(machine, bytes, used_on(machine).shared(link, crowd));
}

collective::Cost Form::over(const Machine& machine, std::int64_t bytes, const collective::Link& link) const {
  if (inside_host(machine)) return inside->over(machine, bytes, link);
  const std::int64_t workers = machine.workers;
  if (curves) {
    const collective::Cost cost = nearest_curve(*curves, machine).cost(static_cast<double>(bytes), workers);
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
