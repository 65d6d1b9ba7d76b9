#include "analysis/predict/step_model/node_links.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ddpprof::fit {
namespace {

double middle_of(double a, double b) { return std::sqrt(a * b); }

AcrossNodes inside_node(const FormFit& fit, std::span<const double> values, const Machine& machine, double towards) {
  AcrossNodes factors;
  const double byte_s = fit.byte_s(values, machine), hop_s = fit.hop_s(values, machine);
  if (byte_s > 0.0) factors.bandwidth = std::pow(std::max(1.0, collective::fast_inside_bytes_per_s * byte_s), towards);
  if (hop_s > 0.0) factors.latency = std::pow(std::min(1.0, collective::fast_inside_hop_s / hop_s), towards);
  return factors;
}

}  // namespace

NodeLinkRange range_of(const NodeLinks& links, const Machine& machine) {
  const auto ranks = static_cast<double>(machine.workers), nodes = static_cast<double>(machine.nodes);
  const double less_traffic = machine.nodes > 1 ? (1.0 - 1.0 / ranks) / (1.0 - 1.0 / nodes) : 1.0;
  return {{links.most_bytes_per_s * less_traffic, collective::fast_node_hop_s, true},
          {middle_of(links.least_bytes_per_s, links.most_bytes_per_s),
           middle_of(collective::fast_node_hop_s, collective::slow_node_hop_s)},
          {links.least_bytes_per_s, collective::slow_node_hop_s}};
}

NodeLinkRange range_inside_node() {
  const auto at = [](double towards_fastest) { return NodeLink{.towards_fastest = towards_fastest}; };
  return {at(1.0), at(0.5), at(0.0)};
}

AcrossNodes across_nodes(const FormFit& fit, std::span<const double> values, const Machine& machine,
                         const NodeLink& link, double bytes) {
  AcrossNodes factors;
  if (machine.workers < 2) return factors;
  if (machine.nodes < 2 && link.bytes_per_s == 0.0) return inside_node(fit, values, machine, link.towards_fastest);
  const auto ranks = static_cast<double>(machine.workers), nodes = static_cast<double>(machine.nodes);
  const std::int64_t whole_bytes = std::llround(bytes);
  const collective::Cost inside = fit.form.over(machine, whole_bytes, fit.step_link(machine, values));
  const double between_s = 2.0 * (1.0 - 1.0 / ranks) * bytes / link.bytes_per_s;
  // Small messages of a measured curve may have no part that grows with their bytes: no factor lengthens it.
  constexpr double least_share = 1e-6;
  const bool scales = inside.bandwidth_s > least_share * between_s;
  if (scales && between_s > inside.bandwidth_s) factors.bandwidth = inside.bandwidth_s / between_s;
  const double more_s = scales ? 0.0 : between_s;
  const double hop_s = fit.hop_s(values, machine);
  if (!(inside.latency_s > 0.0 && hop_s > 0.0)) return factors;
  if (const auto& regimes = fit.form.regimes) {
    const double common_s = hop_s / fit.form.hop_unit_s(machine);
    factors.latency = regimes->latency_across(machine.workers, machine.nodes, link.hop_s / common_s, whole_bytes) +
                      more_s / inside.latency_s;
    return factors;
  }
  const bool nccl = machine.backend == "nccl";
  const double hops = fit.form.curves ? 2.0 * (ranks - 1.0) : fit.form.hops(machine, whole_bytes).count;
  const double ring = hops * (nodes - 1.0) / (ranks - 1.0), tree = 2.0 * std::log2(nodes);
  double across_s = inside.latency_s + (nccl ? std::min(ring, tree) : ring) * link.hop_s;
  if (nccl && link.fewest_hops) {
    const double of_node = static_cast<double>(machine.ranks_per_host()) - 1.0;
    across_s = std::min(across_s, 2.0 * of_node * hop_s + tree * (hop_s + link.hop_s));
  }
  factors.latency = (across_s + more_s) / inside.latency_s;
  return factors;
}

}  // namespace ddpprof::fit
