#include "analysis/fit/all_reduce_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "analysis/fit/all_reduce_problem.hpp"
#include "analysis/fit/compute_fit.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double largest_usable_error = 0.35;
// A warning is given if a step's all-reduces take more than this times the time in a log, or less than 1 / this.
constexpr double doubtful_factor = 1.5;

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

// States the parameters that the points do not determine.
void add_assumptions(AllReduceFit& fit, const std::set<std::int64_t>& counts) {
  const FormFit& picked = fit.picked();
  const Solution& solution = picked.solution;
  std::set<std::int64_t> sizes;
  for (const CollectivePoint& point : fit.points) sizes.insert(point.bytes);
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
  if (!solution.identified[link_parameter::alpha]) {
    assume("latency is not separable (" + where + "): assumed " +
           time_text(std::exp(picked.problem.parameters[link_parameter::alpha].prior)) +
           " per hop, within a factor of ten");
  }
  if (!solution.identified[link_parameter::beta]) {
    assume("bandwidth is not separable (" + where + "): assumed " +
           rate_text(std::exp(-picked.problem.parameters[link_parameter::beta].prior)) + " within a factor of ten");
  }
  if (picked.form.sharing == HostSharing::time_shared && !solution.identified[link_parameter::switching]) {
    assume("no collective was measured with more ranks than cores: the wait for a core is assumed to be " +
           time_text(std::exp(picked.problem.parameters[link_parameter::switching].prior)) +
           " per hop, within a factor of three");
  }
  if (!solution.identified[link_parameter::turn] && !picked.problem.parameters[link_parameter::turn].fixed) {
    fit.status += "; the wait of a hop for a core beside compute cannot be determined";
  }
  if (!solution.identified[link_parameter::in_step] && !picked.problem.parameters[link_parameter::in_step].fixed) {
    assume("the slowdown of an all-reduce inside a step, compared with bench-comm, cannot be determined");
  }
  for (std::size_t i = 0; i < solution.at_bound.size(); ++i) {
    if (solution.at_bound[i]) assume("parameter " + picked.problem.parameters[i].name + " at its bound");
  }
}

// Warns of errors that a prediction must expect.
void add_warnings(AllReduceFit& fit) {
  const FormFit& picked = fit.picked();
  const Solution& solution = picked.solution;
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
}

// States what the form assumes of the reduction, and the regimes of NCCL.
void add_form(AllReduceFit& fit, const std::set<std::int64_t>& counts) {
  const FormFit& picked = fit.picked();
  const Solution& solution = picked.solution;
  if (picked.form.segmented && !solution.identified[link_parameter::gamma]) {
    fit.status += "; reduction is not separable from the transfer that hides it: an assumed " +
                  rate_text(std::exp(-picked.problem.parameters[link_parameter::gamma].prior)) +
                  " within a factor of ten";
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

void judge(AllReduceFit& fit) {
  const FormFit& picked = fit.picked();
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
  std::set<std::int64_t> counts;
  for (const CollectivePoint& point : fit.points) counts.insert(point.machine.workers);
  add_assumptions(fit, counts);
  add_warnings(fit);
  add_form(fit, counts);
}

// Sets the form of the job's own all-reduces on one host, as it is fitted without the curves, if the curve at their N
// is of several hosts. Returns these all-reduces.
std::vector<CollectivePoint> set_inside(Form& form, const std::vector<CollectivePoint>& points) {
  std::vector<CollectivePoint> inside;
  std::int64_t ranks = 0;
  for (const CollectivePoint& point : points) {
    if (point.machine.nodes > 1 || !form.across_hosts(point.machine)) continue;
    inside.push_back(point);
    ranks = std::max(ranks, point.machine.workers);
  }
  if (inside.empty()) return inside;
  form.inside = std::make_shared<const Form>(fit_all_reduce(inside).picked().form);
  form.ranks_inside = std::max(ranks, form.most_ranks_of_a_host());
  return inside;
}

// Makes the parameters of a curve: alpha, beta and in_step are factors. `beside`: steps of N > 1 were measured on the
// curve's links. Scaled to other N, a curve is good to about a tenth; a step's all-reduces run beside compute. `more`:
// another standard deviation of the logarithm.
Parameter curve_factor(const char* name, bool beside, double more = 0.0) {
  const double sd = std::hypot(beside ? 0.7 : 0.1, more);
  return {name, "", 0.0, sd, std::min(std::log(0.1), -3.0 * sd), std::max(std::log(20.0), 3.0 * sd), true, false};
}

Problem curve_problem(const Form& form, const std::vector<CollectivePoint>& points,
                      const std::vector<CollectivePoint>& inside, const GivenCurves& given) {
  const bool nccl = !points.empty() && points.front().machine.backend == "nccl";
  Problem problem = make_problem(form, points, nccl);
  const auto measured = [&](bool across) {
    return std::ranges::any_of(points, [&](const CollectivePoint& point) {
      return !form.inside_host(point.machine) && form.across_hosts(point.machine) == across;
    });
  };
  problem.parameters[link_parameter::alpha] = curve_factor("latency", false, given.small.sd);
  if (given.small.sd > 0.0) problem.parameters[link_parameter::alpha].upper = given.small.most;
  problem.parameters[link_parameter::beta] = curve_factor("inverse_bandwidth", false);
  problem.parameters[link_parameter::in_step] = curve_factor("in_step_factor", measured(false), given.runs_inside);
  problem.parameters[link_parameter::turn].fixed = true;  // this is a time per hop, and a curve has no hops
  if (std::ranges::none_of(*form.curves, [](const collective::Curve& curve) { return curve.hosts() > 1; }))
    return problem;
  problem.parameters.push_back(curve_factor("in_step_factor_across_hosts", measured(true), given.runs_across));
  if (!form.inside) return problem;
  for (Parameter& parameter : make_problem(*form.inside, inside, nccl).parameters) {
    parameter.name = "inside_host_" + parameter.name;
    problem.parameters.push_back(std::move(parameter));
  }
  return problem;
}

// Returns how many times longer the job's all-reduces on one host took than the curves across hosts give for as many
// ranks and bytes. Above 1 they contradict each other, because a ring across hosts also uses the links inside each
// host.
double over_links_between(const std::vector<CollectivePoint>& inside, const std::vector<collective::Curve>& curves) {
  double job_s = 0.0, log_s = 0.0;
  for (const CollectivePoint& point : inside) {
    const auto bytes = static_cast<double>(point.bytes);
    double slowest_s = 0.0;
    for (const collective::Curve& curve : curves) {
      if (curve.hosts() < 2) continue;
      // More ranks have the longer latency, which need not be a ring's.
      const double latency_s = curve.cost(bytes, std::max(curve.ranks(), point.machine.workers)).latency_s;
      slowest_s = std::max(slowest_s, latency_s + curve.cost(bytes, point.machine.workers).bandwidth_s);
    }
    job_s += point.transfer_s;
    log_s += slowest_s;
  }
  return log_s > 0.0 ? job_s / log_s : 0.0;
}

void warn_of_links_between(AllReduceFit& fit, const std::vector<CollectivePoint>& inside) {
  const double longer = over_links_between(inside, *fit.picked().form.curves);
  if (longer > doubtful_factor)
    fit.warnings.push_back("the job's all-reduces inside one host took " + number_text(longer) +
                           " times the time that the log between hosts has for as many ranks: the log may be from "
                           "other machines, and steps on several hosts may be predicted too fast");
}

// Adds what the job's own all-reduces show about the curves.
void compare_with_steps(AllReduceFit& fit) {
  const FormFit& one = fit.forms.front();
  if (one.form.inside)
    fit.notes.push_back(
        "the job's all-reduces ran inside one host, and the log is of links between hosts: they do not correct the "
        "log; on one host the links of the job are used (without a number of ranks per host: up to N = " +
        std::to_string(one.form.ranks_inside) + ")");
  for (const std::size_t index : std::array<std::size_t, 2>{link_parameter::in_step, link_parameter::in_step_across}) {
    if (fit.points.empty() || index >= one.solution.values.size()) continue;
    const double factor = one.solution.values[index];
    if (std::abs(std::log(factor)) > std::log(doubtful_factor))
      fit.warnings.push_back("the steps' all-reduces took " + number_text(factor) +
                             " times the time in the log: the log may be from other machines");
  }
}

// Returns the most ranks that one host has, as far as the job shows: of hosts that it used together, their ranks.
std::int64_t ranks_of_a_host(const std::vector<CollectivePoint>& points) {
  std::int64_t of_one = usual_gpus_per_node, of_several = 0;
  for (const CollectivePoint& point : points) {
    if (point.machine.nodes == 1 && point.machine.device != "cuda") continue;  // logs are of GPUs
    std::int64_t& most = point.machine.nodes > 1 ? of_several : of_one;
    most = std::max(most, point.machine.ranks_per_host());
  }
  return of_several > 0 ? of_several : of_one;
}

// The curve times three factors: one for its latency, one for its bandwidth, and one for the effect of a training step
// on both.
AllReduceFit fit_curves(std::vector<CollectivePoint> points, const std::vector<collective::Curve>& curves,
                        const MessageSizes& job) {
  for (const collective::Curve& curve : curves)
    if (curve.ranks() < 2)
      throw std::invalid_argument("all-reduces of one rank do not show the cost with several ranks");
  const GivenCurves given = join_curves(curves, job, ranks_of_a_host(points));
  FormFit one;
  one.form.curves = std::make_shared<const std::vector<collective::Curve>>(given.curves);
  const std::vector<CollectivePoint> inside = set_inside(one.form, points);
  // A benchmark here is of other links than the curve's.
  std::erase_if(points,
                [&](const CollectivePoint& point) { return point.bench && !one.form.inside_host(point.machine); });
  one.problem = curve_problem(one.form, points, inside, given);
  one.solution = solve(one.problem);
  one.weight = 1.0;
  one.beyond_error = one.solution.median_relative_error;
  AllReduceFit fit;
  fit.points = std::move(points);
  fit.notes = given.notes;
  fit.warnings = given.warnings;
  fit.usable = one.solution.converged;
  fit.status = fit.usable ? "converged; " : "not usable: the solver did not converge (" + one.solution.message + "); ";
  fit.status += "form measured-curve, as given";
  for (const collective::Curve& curve : given.curves) {
    fit.notes.push_back("all-reduces as measured with " + placement_text(curve) + ", " +
                        bytes_text(std::llround(curve.points().front().bytes)) + " to " +
                        bytes_text(std::llround(curve.points().back().bytes)) +
                        "; other N are computed as a ring over the same links");
  }
  fit.forms.push_back(std::move(one));
  compare_with_steps(fit);
  warn_of_links_between(fit, inside);
  return fit;
}

}  // namespace

bool AllReduceFit::has_unknown_hosts() const {
  return !forms.empty() && picked().form.curves &&
         std::ranges::any_of(*picked().form.curves, [](const collective::Curve& curve) { return curve.hosts() == 0; });
}

AllReduceFit fit_all_reduce(const std::vector<CollectivePoint>& all_points,
                            const std::vector<collective::Curve>& curves, const MessageSizes& job) {
  AllReduceFit fit;
  for (const CollectivePoint& point : all_points) {
    if (point.machine.workers > 1 && point.bytes > 0 && point.transfer_s > 0.0) fit.points.push_back(point);
  }
  if (!curves.empty()) return fit_curves(std::move(fit.points), curves, job);
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
