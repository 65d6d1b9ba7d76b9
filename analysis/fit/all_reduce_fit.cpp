#include "analysis/fit/all_reduce_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "analysis/fit/text.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double factor_of_ten = 2.302585092994046;  // ln 10: one standard deviation of a wide prior
constexpr double factor_of_three = 1.0986122886681098;
constexpr double factor_of_twenty = 2.995732273553991;  // ln 20
constexpr double least_sd = 0.02;                       // relative standard error assumed for every point, at least
// Replaces least_sd for a step's collectives if bench-comm measured all-reduces, too. bench-comm is more exact: in a
// step, early ranks send before the last rank starts, and collectives in flight are assumed to share the link evenly.
constexpr double in_step_sd = 0.05;
constexpr double largest_usable_error = 0.35;
constexpr double least_core_share = 0.2;
// A warning is given if a step's all-reduces take more than this times the time in a log, or less than 1 / this.
constexpr double doubtful_factor = 1.5;

// Order of the parameters in every form's problem. A segmented ring also has gamma, a time-shared one the rest.
// Curves of which one was measured across hosts have three other parameters after `turn`: alpha and beta of the job's
// links inside one host, and in_step of the curves across hosts.
enum : std::size_t {
  alpha,
  beta,
  in_step,
  turn,
  gamma,
  switching,
  switch_exponent,
  core_share,
  inside_alpha = gamma,
  inside_beta,
  in_step_across
};

// Returns how much longer an all-reduce takes in a training step. A factor that was measured inside one host does not
// apply to a curve across hosts.
double step_factor(const Form& form, const Machine& machine, std::span<const double> values) {
  if (form.inside_host(machine)) return 1.0;  // inside_alpha and inside_beta were measured in a step
  return values[form.across_hosts(machine.workers) ? in_step_across : in_step];
}

Crowd crowd_of(const Form& form, const Machine& machine, std::span<const double> values) {
  Crowd crowd{.ranks_per_core = ranks_per_core(machine)};
  if (form.sharing == HostSharing::time_shared) {
    crowd.switch_s = values[switching];
    crowd.switch_exponent = values[switch_exponent];
    crowd.core_share = values[core_share];
  }
  return crowd;
}

collective::Link link_of(const Form& form, const Machine& machine, std::span<const double> values) {
  if (form.inside_host(machine)) return {values[inside_alpha], values[inside_beta], 0.0};
  return {values[alpha], values[beta], form.segmented ? values[gamma] : 0.0};
}

// Returns the cost of a collective. In a training step everything takes in_step times as long as in bench-comm.
collective::Cost cost_of(const Form& form, const Machine& machine, std::int64_t bytes, std::span<const double> values,
                         double in_step_factor) {
  return in_step_factor *
         form.cost(machine.workers, bytes, link_of(form, machine, values), crowd_of(form, machine, values));
}

// Returns how much longer it takes beside compute: at every hop the thread that carries it waits for a core.
double beside_compute(const Form& form, const Machine& machine, std::int64_t bytes, std::span<const double> values,
                      double in_step_factor, const collective::Cost& alone) {
  collective::Link link = in_step_factor * form.shared(link_of(form, machine, values), crowd_of(form, machine, values));
  link.latency_s += values[turn];
  return form.over(machine.workers, bytes, link).latency_s - alone.latency_s;
}

// Returns true for one host, and for containers of one machine: the ranks share cores, and these cores carry the bytes.
bool on_one_machine(const CollectivePoint& point) { return point.machine.nodes == 1 || point.machine.machines == 1; }

// Returns the share of a core that one rank keeps busy while it reduces large messages, as bench-comm measured it. On
// slow links it is far less than the three quarters of loopback.
double usual_core_share(const std::vector<CollectivePoint>& points) {
  std::vector<double> shares;
  for (const CollectivePoint& point : points)
    if (point.core_share > 0.0 && point.bytes >= (1 << 20) && ranks_per_core(point.machine) <= 1.0)
      shares.push_back(point.core_share);
  return shares.empty() ? 0.75 : std::clamp(stats::median(shares), 1e-3, 1.0);
}

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
    const double latencies = form.cost(point.machine.workers, point.bytes, {1.0, 0.0, 0.0}, crowd).latency_s;
    const double bytes = form.cost(point.machine.workers, point.bytes, {0.0, 1.0, 0.0}, crowd).bandwidth_s;
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

std::optional<double> held_out_error(Form form, const std::vector<CollectivePoint>& points, bool nccl) {
  std::int64_t largest = 0;
  for (const CollectivePoint& point : points) largest = std::max(largest, point.machine.workers);
  std::vector<CollectivePoint> kept, held;
  for (const CollectivePoint& point : points) (point.machine.workers == largest ? held : kept).push_back(point);
  // One size at one N determines one parameter only: its extrapolation would test the prior, not the form.
  std::set<std::int64_t> sizes;
  std::set<std::int64_t> counts;
  for (const CollectivePoint& point : kept) {
    sizes.insert(point.bytes);
    counts.insert(point.machine.workers);
  }
  if (counts.empty() || (counts.size() < 2 && sizes.size() < 2)) return std::nullopt;
  // Ranks with cores of their own do not show the behaviour of ranks that share cores.
  const auto crowded = [](const CollectivePoint& point) { return ranks_per_core(point.machine) > 1.0; };
  if (std::any_of(held.begin(), held.end(), crowded) && std::none_of(kept.begin(), kept.end(), crowded))
    return std::nullopt;
  if (form.regimes) {
    // Measured regimes do not show other regimes, and ranks of one node do not show links between nodes.
    const auto unseen = [&](const CollectivePoint& point) {
      return std::none_of(kept.begin(), kept.end(), [&](const CollectivePoint& seen) {
        return seen.regime == point.regime && (seen.machine.nodes > 1 || point.machine.nodes == 1);
      });
    };
    if (std::any_of(held.begin(), held.end(), unseen)) return std::nullopt;
    form.regimes = Regimes::fitted(kept);
    if (!form.regimes) return std::nullopt;
  }
  const Solution solution = solve(make_problem(form, kept, nccl));
  if (!solution.converged) return std::nullopt;
  const Problem test = make_problem(form, held, nccl);
  std::vector<double> errors;
  for (std::size_t i = 0; i < held.size(); ++i) {
    // A relative error that is symmetrical: half the measured time counts as much as twice the time.
    errors.push_back(std::expm1(std::abs(std::log(test.model(solution.values, i) / test.measured[i]))));
  }
  return stats::median(errors);
}

void weigh(std::vector<FormFit>& forms) {
  double best = std::numeric_limits<double>::infinity();
  for (const FormFit& fit : forms) best = std::min(best, fit.score);
  const double scale = std::max(best, 0.03);  // differences of scores below 3 % are noise
  double sum = 0.0;
  for (FormFit& fit : forms) {
    fit.weight = std::exp(-0.5 * (fit.score * fit.score - best * best) / (scale * scale));
    sum += fit.weight;
  }
  for (FormFit& fit : forms) fit.weight /= sum;
}

std::string describe_choice(const std::vector<FormFit>& forms, bool natural) {
  const FormFit& picked = forms.front();
  std::string text = "form " + picked.form.name();
  if (forms.size() == 1) return text;
  const bool held = picked.held_out_error.has_value();
  text += natural ? ", the form of this backend; no other form is clearly better (" : ", picked by ";
  text += held ? "held-out error at the largest N " : "error of the fit itself ";
  text += percent(picked.score);
  for (std::size_t i = 1; i < forms.size(); ++i) text += ", " + forms[i].form.name() + " " + percent(forms[i].score);
  if (natural) text += ")";
  if (!held) text += "; too few N or sizes for a held-out test";
  return text;
}

void judge(AllReduceFit& fit) {
  const FormFit& picked = fit.picked();
  std::set<std::int64_t> counts, sizes;
  for (const CollectivePoint& point : fit.points) {
    counts.insert(point.machine.workers);
    sizes.insert(point.bytes);
  }
  const Solution& solution = picked.solution;
  if (!solution.converged) {
    fit.status = "not usable: the solver did not converge (" + solution.message + "); " + fit.status;
    return;
  }
  if (solution.median_relative_error > largest_usable_error) {
    fit.status = "not usable: median relative error " + percent(solution.median_relative_error) + ", at most " +
                 percent(largest_usable_error) + " accepted; " + fit.status;
    return;
  }
  fit.usable = true;
  fit.status = "converged; " + fit.status;
  const auto assume = [&](const std::string& text) {
    fit.notes.push_back(text);
    fit.status += "; " + text;
  };
  if (counts.size() == 1) {
    assume("measured at one N only (" + std::to_string(*counts.begin()) +
           "): the growth of latency with N is assumed by the form");
  }
  const std::string where = sizes.size() == 1
                                ? "all messages are " + bytes_text(*sizes.begin())
                                : "messages of " + bytes_text(*sizes.begin()) + " to " + bytes_text(*sizes.rbegin());
  if (!solution.identified[alpha]) {
    assume("latency is not separable (" + where + "): assumed " +
           time_text(std::exp(picked.problem.parameters[alpha].prior)) + " per hop, within a factor of ten");
  }
  if (!solution.identified[beta]) {
    assume("bandwidth is not separable (" + where + "): assumed " +
           rate_text(std::exp(-picked.problem.parameters[beta].prior)) + " within a factor of ten");
  }
  if (picked.form.sharing == HostSharing::time_shared && !solution.identified[switching]) {
    assume("no collective was measured with more ranks than cores: the wait for a core is assumed to be " +
           time_text(std::exp(picked.problem.parameters[switching].prior)) + " per hop, within a factor of three");
  }
  if (!solution.identified[turn] && !picked.problem.parameters[turn].fixed) {
    fit.status += "; the wait of a hop for a core beside compute cannot be determined";
  }
  if (!solution.identified[in_step] && !picked.problem.parameters[in_step].fixed) {
    assume("the slowdown of an all-reduce inside a step, compared with bench-comm, cannot be determined");
  }
  for (std::size_t i = 0; i < solution.at_bound.size(); ++i) {
    if (solution.at_bound[i]) assume("parameter " + picked.problem.parameters[i].name + " at its bound");
  }
  const auto warn = [&](const std::string& text) {
    fit.warnings.push_back(text);
    fit.status += "; WARNING: " + text;
  };
  if (picked.held_out_error && *picked.held_out_error > largest_usable_error) {
    warn("fitted to the smaller N, it is off by " + percent(*picked.held_out_error) +
         " at the largest N: expect at least this error beyond it");
  }
  constexpr double far_factor = 2.0, most_far_share = 0.1;
  std::size_t far = 0;
  double lowest = 1.0, highest = 1.0;  // fitted / measured
  for (std::size_t i = 0; i < solution.fitted.size(); ++i) {
    const double ratio = solution.fitted[i] / picked.problem.measured[i];
    lowest = std::min(lowest, ratio);
    highest = std::max(highest, ratio);
    far += ratio > far_factor || ratio < 1.0 / far_factor;
  }
  if (static_cast<double>(far) > most_far_share * static_cast<double>(solution.fitted.size()))
    warn("it is off by more than a factor of 2 at " + std::to_string(far) + " of " +
         std::to_string(solution.fitted.size()) + " points (" + percent(lowest - 1.0) + " to " +
         percent(highest - 1.0) + ")");
  const auto& parameters = picked.problem.parameters;
  const auto free =
      std::count_if(parameters.begin(), parameters.end(), [](const Parameter& one) { return !one.fixed; });
  if (fit.points.size() <= static_cast<std::size_t>(free)) {
    warn("the fit has " + std::to_string(fit.points.size()) + " point" + (fit.points.size() == 1 ? "" : "s") + " for " +
         std::to_string(free) + " free parameters: parameters that the points do not determine are assumed");
  }
  if (picked.form.segmented && !solution.identified[gamma]) {
    fit.status += "; reduction is not separable from the transfer that hides it: an assumed " +
                  rate_text(std::exp(-picked.problem.parameters[gamma].prior)) + " within a factor of ten";
  }
  if (picked.form.regimes) {
    std::string regimes;
    for (const Regime& regime : picked.form.regimes->all())
      regimes += (regimes.empty() ? "" : ", ") + regime.name + " (" + std::to_string(regime.points) + " point" +
                 (regime.points == 1 ? "" : "s") + ", hop × " + number_text(regime.latency_factor) + ", byte × " +
                 number_text(regime.bandwidth_factor) + ")";
    fit.status += "; one line per NCCL regime: " + regimes;
    for (const std::int64_t workers : counts)
      fit.notes.push_back("NCCL's regimes at N = " + std::to_string(workers) + ": " +
                          picked.form.regimes->ladder_text(workers));
  }
  if (!picked.form.segmented) fit.status += "; reduction folded into bandwidth (in a ring the two are proportional)";
}

}  // namespace

double FormFit::hop_s(std::span<const double> values, const Machine& machine) const {
  return link_of(form, machine, values).latency_s * step_factor(form, machine, values) *
         form.hop_unit_s(machine.workers);
}

// The rate of a step's all-reduce: the factor between a step and bench-comm is included.
double FormFit::byte_s(std::span<const double> values, const Machine& machine) const {
  return link_of(form, machine, values).bandwidth_s_per_byte * step_factor(form, machine, values) *
         form.byte_unit_s(machine.workers);
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
  return step_factor(form, machine, values) * form.shared(link, crowd_of(form, machine, values));
}

double FormFit::turn_s(std::span<const double> values) const {
  return problem.parameters[turn].fixed ? 0.0 : values[turn];
}

namespace {

// Returns the largest N inside one host if the job's all-reduces ran inside one host and the curve at their N is of
// several hosts: the N of the job, or the ranks that the curves had on a host. 0 if there is no such all-reduce.
std::int64_t ranks_inside(const Form& form, const std::vector<CollectivePoint>& points) {
  std::int64_t ranks = 0;
  for (const CollectivePoint& point : points)
    if (point.machine.nodes == 1 && form.across_hosts(point.machine.workers))
      ranks = std::max(ranks, point.machine.workers);
  if (ranks == 0) return 0;
  for (const collective::Curve& curve : *form.curves)
    if (curve.hosts() > 1) ranks = std::max(ranks, (curve.ranks() + curve.hosts() - 1) / curve.hosts());
  return ranks;
}

// Makes the parameters of a curve: alpha, beta and in_step are factors. `beside`: steps of N > 1 were measured on the
// curve's links. Scaled to other N, a curve is good to about a tenth; a step's all-reduces run beside compute.
Parameter curve_factor(const char* name, bool beside) {
  return {name, "", 0.0, beside ? 0.7 : 0.1, std::log(0.1), std::log(20.0), true, false};
}

Problem curve_problem(const Form& form, const std::vector<CollectivePoint>& points) {
  const bool nccl = !points.empty() && points.front().machine.backend == "nccl";
  Problem problem = make_problem(form, points, nccl);
  const auto measured = [&](bool across) {
    return std::ranges::any_of(points, [&](const CollectivePoint& point) {
      return !form.inside_host(point.machine) && form.across_hosts(point.machine.workers) == across;
    });
  };
  problem.parameters[alpha] = curve_factor("latency", false);
  problem.parameters[beta] = curve_factor("inverse_bandwidth", false);
  problem.parameters[in_step] = curve_factor("in_step_factor", measured(false));
  problem.parameters[turn].fixed = true;  // this is a time per hop, and a curve has no hops
  if (std::ranges::none_of(*form.curves, [](const collective::Curve& curve) { return curve.hosts() > 1; }))
    return problem;
  for (const char* name : {"inside_host_latency", "inside_host_inverse_bandwidth"})
    problem.parameters.push_back(
        {name, "", 0.0, factor_of_ten, std::log(1e-4), std::log(1e2), true, form.ranks_inside == 0});
  problem.parameters.push_back(curve_factor("in_step_factor_across_hosts", measured(true)));
  return problem;
}

// Adds what the job's own all-reduces show about the curves.
void compare_with_steps(AllReduceFit& fit) {
  const FormFit& one = fit.forms.front();
  if (one.form.ranks_inside > 0)
    fit.notes.push_back(
        "the job's all-reduces ran inside one host, and the log is of links between hosts: they do not correct the "
        "log; "
        "up to N = " +
        std::to_string(one.form.ranks_inside) + " on one host, the links of the job are used");
  for (const std::size_t index : std::array<std::size_t, 2>{in_step, in_step_across}) {
    if (fit.points.empty() || index >= one.solution.values.size()) continue;
    const double factor = one.solution.values[index];
    if (std::abs(std::log(factor)) > std::log(doubtful_factor))
      fit.warnings.push_back("the steps' all-reduces took " + number_text(factor) +
                             " times the time in the log: the log may be from other machines");
  }
}

// The curve times three factors: one for its latency, one for its bandwidth, and one for the effect of a training step
// on both.
AllReduceFit fit_curves(std::vector<CollectivePoint> points, const std::vector<collective::Curve>& curves) {
  for (const collective::Curve& curve : curves)
    if (curve.ranks() < 2)
      throw std::invalid_argument("all-reduces of one rank do not show the cost with several ranks");
  std::erase_if(points, [](const CollectivePoint& point) { return point.bench; });  // other links than the curve's
  FormFit one;
  one.form.curves = std::make_shared<const std::vector<collective::Curve>>(curves);
  one.form.ranks_inside = ranks_inside(one.form, points);
  one.problem = curve_problem(one.form, points);
  one.solution = solve(one.problem);
  one.weight = 1.0;
  one.beyond_error = one.solution.median_relative_error;
  AllReduceFit fit;
  fit.points = std::move(points);
  fit.usable = one.solution.converged;
  fit.status = fit.usable ? "converged; " : "not usable: the solver did not converge (" + one.solution.message + "); ";
  fit.status += "form measured-curve, as given";
  for (const collective::Curve& curve : curves) {
    fit.notes.push_back("all-reduces as measured with " + std::to_string(curve.ranks()) + " ranks, " +
                        bytes_text(std::llround(curve.points().front().bytes)) + " to " +
                        bytes_text(std::llround(curve.points().back().bytes)) +
                        "; other N are computed as a ring over the same links");
  }
  fit.forms.push_back(std::move(one));
  compare_with_steps(fit);
  return fit;
}

}  // namespace

AllReduceFit fit_all_reduce(const std::vector<CollectivePoint>& all_points,
                            const std::vector<collective::Curve>& curves) {
  AllReduceFit fit;
  for (const CollectivePoint& point : all_points) {
    if (point.machine.workers > 1 && point.bytes > 0 && point.transfer_s > 0.0) fit.points.push_back(point);
  }
  if (!curves.empty()) return fit_curves(std::move(fit.points), curves);
  if (fit.points.empty()) {
    const bool measured =
        std::ranges::any_of(all_points, [](const CollectivePoint& point) { return point.machine.workers > 1; });
    fit.status = measured ? "not usable: the sizes of the measured all-reduces are not recorded"
                          : "not usable: no all-reduce was measured at more than one worker";
    return fit;
  }
  const bool nccl = fit.points.front().machine.backend == "nccl";
  const bool one_machine = std::all_of(fit.points.begin(), fit.points.end(), on_one_machine);
  const bool loopback = !nccl && one_machine;
  const bool crowded = loopback && std::any_of(fit.points.begin(), fit.points.end(), [](const CollectivePoint& point) {
                         return ranks_per_core(point.machine) > 1.0;
                       });
  using enum HostSharing;
  std::vector<Form> forms;  // the backend's own first
  if (nccl)
    if (std::shared_ptr<const Regimes> regimes = Regimes::fitted(fit.points)) {
      forms.push_back({});
      forms.back().regimes = std::move(regimes);
    }
  if (loopback) forms.push_back({true, time_shared});
  if (loopback && crowded) forms.push_back({true, proportional});
  if (!nccl && (!loopback || crowded)) forms.push_back({true, none});
  if (loopback) forms.push_back({false, proportional});
  if (!loopback || crowded) forms.push_back({false, none});
  for (const Form& form : forms) {
    FormFit one;
    one.form = form;
    one.problem = make_problem(form, fit.points, nccl);
    one.solution = solve(one.problem);
    one.held_out_error = held_out_error(form, fit.points, nccl);
    fit.forms.push_back(std::move(one));
  }
  double others = 0.0;
  for (FormFit& one : fit.forms) {
    one.beyond_error = one.held_out_error.value_or(one.solution.median_relative_error);
    if (!one.form.regimes && one.solution.converged) others = std::max(others, one.beyond_error);
  }
  for (FormFit& one : fit.forms)
    if (one.form.regimes && !one.held_out_error) one.beyond_error = std::max(one.beyond_error, others);
  const bool all_held = std::all_of(fit.forms.begin(), fit.forms.end(),
                                    [](const FormFit& one) { return one.held_out_error.has_value(); });
  for (FormFit& one : fit.forms) {
    if (!all_held) one.held_out_error.reset();  // all forms must be compared by the same kind of error
    one.score = one.held_out_error.value_or(one.solution.median_relative_error);
    if (!one.solution.converged) one.score = 1e3;
  }
  weigh(fit.forms);
  // The form of the backend is first in the list. Another form replaces it only if it is clearly better.
  const auto best = std::min_element(fit.forms.begin(), fit.forms.end(),
                                     [](const FormFit& a, const FormFit& b) { return a.score < b.score; });
  const bool natural = fit.forms.front().score <= best->score + std::max(0.01, 0.2 * best->score);
  if (!natural) std::rotate(fit.forms.begin(), best, best + 1);
  fit.status = describe_choice(fit.forms, natural);
  judge(fit);
  return fit;
}

}  // namespace ddpprof::fit
