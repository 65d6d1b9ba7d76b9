#include "analysis/fit/all_reduce_problem.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double factor_of_three = 1.0986122886681098;
constexpr double factor_of_twenty = 2.995732273553991;  // ln 20
constexpr double least_sd = 0.02;                       // relative standard error assumed for every point, at least
// Replaces least_sd for a step's collectives if bench-comm measured all-reduces, too. bench-comm is more exact: in a
// step, early ranks send before the last rank starts, and collectives in flight are assumed to share the link evenly.
constexpr double in_step_sd = 0.05;
constexpr double least_core_share = 0.2;

// Returns the parameters of the form that is used on this machine.
std::span<const double> used_values(const Form& form, const Machine& machine, std::span<const double> values) {
  return form.inside_host(machine) ? values.subspan(link_parameter::inside) : values;
}

// Returns how much longer an all-reduce takes in a training step. A factor that was measured inside one host does not
// apply to a curve across hosts.
double step_factor(const Form& form, const Machine& machine, std::span<const double> values) {
  if (form.inside_host(machine)) return used_values(form, machine, values)[link_parameter::in_step];
  return values[form.across_hosts(machine) ? link_parameter::in_step_across : link_parameter::in_step];
}

Crowd crowd_of(const Form& any_form, const Machine& machine, std::span<const double> all_values) {
  const Form& form = any_form.used_on(machine);
  const std::span<const double> values = used_values(any_form, machine, all_values);
  Crowd crowd{.ranks_per_core = ranks_per_core(machine)};
  if (form.sharing == HostSharing::time_shared) {
    crowd.switch_s = values[link_parameter::switching];
    crowd.switch_exponent = values[link_parameter::switch_exponent];
    crowd.core_share = values[link_parameter::core_share];
  }
  return crowd;
}

collective::Link link_of(const Form& form, const Machine& machine, std::span<const double> all_values) {
  const std::span<const double> values = used_values(form, machine, all_values);
  return {values[link_parameter::alpha], values[link_parameter::beta],
          form.used_on(machine).segmented ? values[link_parameter::gamma] : 0.0};
}

// Returns the cost of a collective. In a training step everything takes in_step times as long as in bench-comm.
collective::Cost cost_of(const Form& form, const Machine& machine, std::int64_t bytes, std::span<const double> values,
                         double in_step_factor) {
  return in_step_factor * form.cost(machine, bytes, link_of(form, machine, values), crowd_of(form, machine, values));
}

// Returns how much longer it takes beside compute: at every hop the thread that carries it waits for a core.
double beside_compute(const Form& form, const Machine& machine, std::int64_t bytes, std::span<const double> values,
                      double in_step_factor, const collective::Cost& alone) {
  collective::Link link =
      in_step_factor * form.used_on(machine).shared(link_of(form, machine, values), crowd_of(form, machine, values));
  link.latency_s += used_values(form, machine, values)[link_parameter::turn];
  return form.over(machine, bytes, link).latency_s - alone.latency_s;
}

// Returns the share of a core that one rank keeps busy while it reduces large messages, as bench-comm measured it. On
// slow links it is far less than the three quarters of loopback.
double usual_core_share(const std::vector<CollectivePoint>& points) {
  std::vector<double> shares;
  for (const CollectivePoint& point : points)
    if (point.core_share > 0.0 && point.bytes >= (1 << 20) && ranks_per_core(point.machine) <= 1.0)
      shares.push_back(point.core_share);
  return shares.empty() ? 0.75 : std::clamp(stats::median(shares), 1e-3, 1.0);
}

}  // namespace

bool on_one_machine(const CollectivePoint& point) { return point.machine.nodes == 1 || point.machine.machines == 1; }

// Centres of wide priors. Latency: a loopback or data-centre hop, less for a GPU's own network. Bandwidth: 1 GB/s and
// 10 GB/s.
Problem make_problem(const Form& form, const std::vector<CollectivePoint>& points, bool nccl) {
  Problem problem;
  double alpha_limit = 1.0;
  double beta_limit = 1e-3;
  std::int64_t largest_bytes = 0;
  for (const CollectivePoint& point : points) largest_bytes = std::max(largest_bytes, point.bytes);
  const bool both_sources =
      std::any_of(points.begin(), points.end(), [](const CollectivePoint& point) { return point.bench; }) &&
      std::any_of(points.begin(), points.end(), [](const CollectivePoint& point) { return !point.bench; });
  const double share = usual_core_share(points);
  for (const CollectivePoint& point : points) {
    problem.measured.push_back(point.transfer_s);
    const bool blurred = both_sources && !point.bench;
    problem.sd.push_back(std::hypot(blurred ? in_step_sd : least_sd, point.noise));
    // Uses the lowest cost that sharing may have. Otherwise the bound would exclude possible values of the link.
    const Crowd crowd{.ranks_per_core = ranks_per_core(point.machine), .core_share = std::min(least_core_share, share)};
    const double latencies = form.cost(point.machine, point.bytes, {1.0, 0.0, 0.0}, crowd).latency_s;
    const double bytes = form.cost(point.machine, point.bytes, {0.0, 1.0, 0.0}, crowd).bandwidth_s;
    // The latency terms alone may not exceed 1.5 times the time of any measured all-reduce. The bandwidth terms alone
    // may not exceed 1.5 times the time of the largest messages, which determine the bandwidth.
    if (latencies > 0.0) alpha_limit = std::min(alpha_limit, 1.5 * point.transfer_s / latencies);
    if (bytes > 0.0 && point.bytes == largest_bytes) beta_limit = std::min(beta_limit, 1.5 * point.transfer_s / bytes);
  }
  // A step does not slow down links. It slows down cores that ranks share, and a GPU that computes.
  const bool one_machine = std::all_of(points.begin(), points.end(), on_one_machine);
  // On a GPU, an all-reduce runs beside compute on processors of its own.
  const bool beside = !nccl && std::any_of(points.begin(), points.end(),
                                           [](const CollectivePoint& point) { return point.beside_compute > 0.0; });
  problem.parameters = {
      {"latency", "s", std::log(nccl ? 5e-6 : 30e-6), factor_of_ten, std::log(1e-9), std::log(alpha_limit), true,
       false},
      {"inverse_bandwidth", "s/byte", std::log(nccl ? 1e-10 : 1e-9), factor_of_ten, std::log(1e-14),
       std::log(beta_limit), true, false},
      {"in_step_factor", "", 0.0, one_machine || nccl ? 0.7 : 0.05, std::log(0.1), std::log(20.0), true, !both_sources},
      {"turn", "s", std::log(30e-6), factor_of_twenty, std::log(1e-9), std::log(0.1), true, !beside}};
  if (form.segmented) {
    problem.parameters.push_back({"reduction", "s/byte", std::log(nccl ? 1e-12 : 1e-10), factor_of_ten, std::log(1e-14),
                                  std::log(beta_limit), true, false});
  }
  if (form.sharing == HostSharing::time_shared) {
    // Measured on two cores with 4, 8 and 16 ranks: 0.3 ms, exponent 0.6, two thirds of a core.
    problem.parameters.push_back(
        {"switch", "s", std::log(0.3e-3), factor_of_three, std::log(1e-7), std::log(1.0), true, false});
    problem.parameters.push_back({"switch_exponent", "", 0.6, 0.15, 0.1, 1.5, false, false});
    problem.parameters.push_back(
        {"core_share", "", std::log(share), 0.3, std::log(std::min(least_core_share, share / 3.0)), 0.0, true, false});
  }
  problem.model = [form, points, beside](std::span<const double> values, std::size_t index) {
    const CollectivePoint& point = points[index];
    const collective::Cost cost =
        cost_of(form, point.machine, point.bytes, values, point.bench ? 1.0 : step_factor(form, point.machine, values));
    const double alone_s = cost.latency_s + point.concurrency * cost.bandwidth_s + cost.reduction_s;
    if (!beside || !(point.beside_compute > 0.0)) return alone_s;
    // During the share p of its duration d, the all-reduce runs beside compute at the pace alone / (alone + longer),
    // and during the rest at its own pace: d (1 - p (1 - pace)) = alone.
    const double longer_s = beside_compute(form, point.machine, point.bytes, values,
                                           point.bench ? 1.0 : step_factor(form, point.machine, values), cost);
    return alone_s / (1.0 - point.beside_compute * longer_s / (alone_s + longer_s));
  };
  return problem;
}

double FormFit::hop_s(std::span<const double> values, const Machine& machine) const {
  return link_of(form, machine, values).latency_s * step_factor(form, machine, values) * form.hop_unit_s(machine);
}

// The rate of a step's all-reduce: the factor between a step and bench-comm is included.
double FormFit::byte_s(std::span<const double> values, const Machine& machine) const {
  return link_of(form, machine, values).bandwidth_s_per_byte * step_factor(form, machine, values) *
         form.byte_unit_s(machine);
}

collective::Cost FormFit::cost(const Machine& machine, std::int64_t bytes, std::span<const double> values) const {
  return cost_of(form, machine, bytes, values, step_factor(form, machine, values));
}

collective::Cost FormFit::alone(const Machine& machine, std::int64_t bytes, std::span<const double> values,
                                bool bench) const {
  return cost_of(form, machine, bytes, values, bench ? 1.0 : step_factor(form, machine, values));
}

collective::Link FormFit::step_link(const Machine& machine, std::span<const double> values, double latency_factor,
                                    double bandwidth_factor) const {
  collective::Link link = link_of(form, machine, values);
  link.latency_s *= latency_factor;
  link.bandwidth_s_per_byte /= bandwidth_factor;
  return step_factor(form, machine, values) * form.used_on(machine).shared(link, crowd_of(form, machine, values));
}

double FormFit::turn_s(std::span<const double> values, const Machine& machine) const {
  std::size_t turn = link_parameter::turn;
  if (form.inside_host(machine)) turn += link_parameter::inside;
  return problem.parameters[turn].fixed ? 0.0 : values[turn];
}

}  // namespace ddpprof::fit
