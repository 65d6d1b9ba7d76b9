#include "analysis/fit/compute_fit.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/fit/solution_json.hpp"
#include "analysis/fit/text.hpp"

namespace ddpprof::fit {
namespace {

constexpr double compute_least_sd = 0.02;
constexpr double compute_largest_usable_error = 0.35;
constexpr double largest_worst_error = 0.5;  // of any one N
enum : std::size_t { base, threads_exponent, contention_exponent, sharing_exponent };

// Returns the number of ranks of one host that have their cores to themselves: at most the number that the cores have
// room for.
double contending(const Machine& machine) {
  const double room = static_cast<double>(machine.cores) / static_cast<double>(machine.threads_per_rank);
  return std::max(1.0, std::min(static_cast<double>(machine.ranks_per_machine()), room));
}

// The law without its base.
ComputeFit::LogCompute log_law(const Machine& machine) {
  return {0.0, -std::log(static_cast<double>(machine.threads_per_rank)), std::log(contending(machine)),
          std::log(machine.crowding())};
}

double law(const Machine& machine, std::span<const double> values) {
  return values[base] * std::exp(log_law(machine).of(values));
}

// Appends the parameters of the batch law.
std::string with_batch(const std::string& parameters, const BatchFit& batch) {
  nlohmann::ordered_json all = nlohmann::ordered_json::parse(parameters);
  const BatchParameters own = batch.parameters();
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    const double error = std::sqrt(own.covariance[i * own.values.size() + i]);
    const std::size_t law = 0;  // index of the parameter for the growth of compute
    const bool bound = batch.laws.front().solution.at_bound[law];
    const bool identified = batch.laws.front().solution.identified[law];
    all[own.names[i]] = {{"value", own.values[i]},
                         {"unit", own.units[i]},
                         {"standard_error", bound ? nlohmann::ordered_json() : nlohmann::ordered_json(error)},
                         {"state", bound        ? "at bound"
                                   : identified ? "fitted"
                                                : "assumed"},
                         {"at_bound", bound},
                         {"identified", identified},
                         {"fixed", false}};
  }
  return all.dump();
}

// In the order of the parameters. Covariances between the two fits are 0.
std::string covariance_with_batch(const ComputeFit& fit) {
  const BatchParameters own = fit.batch.parameters();
  if (own.values.empty()) return covariance_json(fit.solution);
  const std::size_t count = fit.solution.x.size(), more = own.values.size();
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < count + more; ++i) {
    std::vector<double> row(count + more, 0.0);
    if (i < count) {
      const auto begin = fit.solution.x_covariance.begin() + static_cast<std::ptrdiff_t>(i * count);
      std::copy(begin, begin + static_cast<std::ptrdiff_t>(count), row.begin());
    } else {
      const auto begin = own.covariance.begin() + static_cast<std::ptrdiff_t>((i - count) * more);
      std::copy(begin, begin + static_cast<std::ptrdiff_t>(more), row.begin() + static_cast<std::ptrdiff_t>(count));
    }
    rows.push_back(row);
  }
  return rows.dump();
}

// Returns the weight of each measured machine for this number of ranks on one machine; the weights add up to 1.
std::vector<double> nearest(const std::vector<Machine>& machines, std::int64_t ranks_per_machine) {
  std::map<std::int64_t, std::vector<std::size_t>> levels;  // ranks per machine -> points
  for (std::size_t i = 0; i < machines.size(); ++i) levels[machines[i].ranks_per_machine()].push_back(i);
  std::vector<double> weights(machines.size(), 0.0);
  const auto spread = [&](const std::vector<std::size_t>& points, double weight) {
    for (const std::size_t i : points) weights[i] = weight / static_cast<double>(points.size());
  };
  const auto above = levels.lower_bound(ranks_per_machine);
  if (above == levels.end()) {
    spread(levels.rbegin()->second, 1.0);
  } else if (above == levels.begin() || above->first == ranks_per_machine) {
    spread(above->second, 1.0);
  } else {
    const auto below = std::prev(above);
    const double share = std::log(static_cast<double>(ranks_per_machine) / static_cast<double>(below->first)) /
                         std::log(static_cast<double>(above->first) / static_cast<double>(below->first));
    spread(below->second, 1.0 - share);
    spread(above->second, share);
  }
  return weights;
}

}  // namespace

std::int64_t ComputeFit::usual_ranks_per_host() const {
  const std::int64_t measured = reference.ranks_per_host();
  return reference.device == "cuda" && reference.nodes == 1 ? std::max(usual_gpus_per_node, measured) : measured;
}

Machine ComputeFit::machine_for(std::int64_t workers, std::int64_t gpus_per_node) const {
  Machine machine = reference;
  machine.workers = workers;
  if (gpus_per_node == 0 && reference.device == "cuda" && reference.nodes == 1)
    gpus_per_node = usual_ranks_per_host();
  if (gpus_per_node > 0) {
    machine.nodes = (workers + gpus_per_node - 1) / gpus_per_node;
  } else if (reference.nodes > 1) {
    // Measured on several hosts: more ranks come on more hosts, with the same number on each.
    machine.nodes = (workers + reference.ranks_per_host() - 1) / reference.ranks_per_host();
  }
  // If all ranks shared one pool of cores, on one host or in containers of one machine, more ranks share this pool too,
  // or other machines if gpus_per_node is given. Several pools (cores or quotas of their own) grow in number.
  const std::int64_t as_many = (workers + reference.ranks_per_machine() - 1) / reference.ranks_per_machine();
  machine.machines = std::max(reference.machines > 1 ? as_many : 1, gpus_per_node > 0 ? machine.nodes : 1);
  if (threads_follow_cores) {
    machine.threads_per_rank = std::max<std::int64_t>(1, machine.cores / machine.ranks_per_machine());
  }
  return machine;
}

Machine ComputeFit::dedicated_machine(std::int64_t workers) const {
  Machine machine = reference;
  machine.workers = workers;
  machine.nodes = machine.machines = workers;
  machine.threads_per_rank = threads_at_one;
  return machine;
}

double ComputeFit::LogCompute::of(std::span<const double> values) const {
  return constant + by_threads * values[threads_exponent] + by_contention * values[contention_exponent] +
         by_sharing * values[sharing_exponent];
}

ComputeFit::LogCompute ComputeFit::LogCompute::operator-(const LogCompute& other) const {
  return {constant - other.constant, by_threads - other.by_threads, by_contention - other.by_contention,
          by_sharing - other.by_sharing};
}

ComputeFit::LogCompute ComputeFit::log_compute(const Machine& machine) const {
  LogCompute log = log_law(machine);
  if (machines.empty()) return log;
  const std::vector<double> weights = nearest(machines, machine.ranks_per_machine());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const LogCompute point = log_law(machines[i]);
    log.constant += weights[i] * (std::log(problem.measured[i]) - point.constant);
    log.by_threads -= weights[i] * point.by_threads;
    log.by_contention -= weights[i] * point.by_contention;
    log.by_sharing -= weights[i] * point.by_sharing;
  }
  return log;
}

double ComputeFit::compute_s(const Machine& machine, std::span<const double> values) const {
  return std::exp(log_compute(machine).of(values));
}

ComputeFit fit_compute(const std::string& strategy, const std::map<std::int64_t, StepProfile>& profiles,
                       const std::vector<BatchPoint>& batches) {
  ComputeFit fit;
  fit.batch = fit_batches(batches);
  fit.strategy = strategy;
  std::vector<Machine>& machines = fit.machines;
  bool follows = true;
  bool threads_vary = false;
  bool crowding_varies = false;
  bool contention_varies = false;
  for (const auto& [workers, profile] : profiles) {
    if (!(profile.compute_s() > 0.0)) continue;
    machines.push_back(profile.machine);
    fit.measured_at.push_back(workers);
    fit.problem.measured.push_back(profile.compute_s());
    fit.problem.sd.push_back(std::hypot(compute_least_sd, profile.compute_noise));
    const Machine& machine = profile.machine;
    follows =
        follows && machine.threads_per_rank == std::max<std::int64_t>(1, machine.cores / machine.ranks_per_machine());
    threads_vary = threads_vary || machine.threads_per_rank != machines.front().threads_per_rank;
    contention_varies = contention_varies || contending(machine) != contending(machines.front());
    crowding_varies = crowding_varies || machine.crowding() != machines.front().crowding();
  }
  if (machines.empty()) {
    fit.status = "not usable: no step with a compute time was measured";
    return fit;
  }
  fit.reference = machines.back();
  fit.threads_at_one = machines.front().threads_per_rank;
  // One N alone does not show a rule. Equal threads at several N that are not max(1, cores / N) were set by the user.
  const bool own_device = fit.reference.device == "cuda";
  fit.threads_follow_cores = follows && !own_device;
  // With threads = cores / r, t^-p and r^s are one and the same.
  const bool no_contention = own_device || (follows && threads_vary);
  const double p = own_device ? 0.0 : 0.8, q = own_device ? 0.0 : 1.0;
  const std::vector<double> unit = {1.0, p, 0.0, q};
  fit.problem.parameters = {
      {"compute_one_thread", "s", std::log(fit.problem.measured.front() / law(machines.front(), unit)), 2.0,
       std::log(1e-9), std::log(1e6), true, false},
      {"threads_exponent", "", p, 0.3, -0.2, 2.5, false, own_device},
      {"contention_exponent", "", 0.0, 0.5, -0.2, 3.0, false, no_contention},
      {"sharing_exponent", "", q, 0.25, 0.0, 2.0, false, own_device}};
  fit.problem.model = [machines](std::span<const double> values, std::size_t index) {
    return law(machines[index], values);
  };
  fit.solution = solve(fit.problem);
  const double error = fit.solution.median_relative_error;
  std::int64_t worst_at = 0;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    // A symmetrical error: a third of the measured time counts as much as three times the time.
    const double off = std::expm1(std::abs(std::log(fit.solution.fitted[i] / fit.problem.measured[i])));
    if (off <= fit.worst_relative_error) continue;
    fit.worst_relative_error = off;
    worst_at = machines[i].workers;
  }
  fit.usable = fit.solution.converged && error <= compute_largest_usable_error &&
               fit.worst_relative_error <= largest_worst_error;
  if (fit.usable) {
    fit.status = "converged";
  } else if (!fit.solution.converged) {
    fit.status = "not usable: the solver did not converge (" + fit.solution.message + ")";
  } else if (error > compute_largest_usable_error) {
    fit.status = "not usable: median relative error " + percent(error) + ", at most " +
                 percent(compute_largest_usable_error) + " accepted";
  } else {
    fit.status = "not usable: off by " + percent(fit.worst_relative_error) + " at N = " + std::to_string(worst_at) +
                 ", at most " + percent(largest_worst_error) + " accepted at any N";
  }
  if (own_device) {
    fit.status += "; each rank has its own GPU: compute does not depend on N";
  } else {
    if (!crowding_varies) {
      fit.notes.push_back(
          "all measured N share cores equally: the slowdown of compute with shared cores is assumed "
          "(exponent 1.0 ± 0.25)");
    }
    if (!contention_varies && !no_contention && fit.reference.cores > 1) {
      fit.notes.push_back(
          "all measured N have the same number of ranks with cores of their own: such ranks are assumed not to slow "
          "each "
          "other down (exponent 0 ± 0.5)");
    }
    if (!threads_vary && fit.threads_follow_cores && machines.front().cores > 1) {
      fit.notes.push_back(
          "threads per rank did not vary: the speedup of compute with threads is assumed "
          "(exponent 0.8 ± 0.3)");
    }
    for (const std::string& note : fit.notes) fit.status += "; " + note;
  }
  for (std::size_t i = 0; i < fit.problem.parameters.size(); ++i) {
    if (fit.solution.at_bound[i]) fit.status += "; parameter " + fit.problem.parameters[i].name + " at its bound";
  }
  if (!fit.batch.status.empty()) fit.status += "; over the batch: " + fit.batch.status;
  return fit;
}

store::FitRow to_row(const ComputeFit& fit) {
  store::FitRow row;
  row.name = "compute";
  row.strategy = fit.strategy;
  row.form = "threads-and-shared-cores";
  row.usable = fit.usable ? 1 : 0;
  row.status = fit.status;
  row.points = static_cast<std::int64_t>(fit.measured_at.size());
  if (fit.measured_at.empty()) return row;
  row.median_relative_error = fit.solution.median_relative_error;
  row.parameters = with_batch(parameters_json(fit.problem, fit.solution), fit.batch);
  row.covariance = covariance_with_batch(fit);
  nlohmann::json residuals = nlohmann::json::array();
  for (std::size_t i = 0; i < fit.measured_at.size(); ++i) {
    residuals.push_back({{"workers", fit.measured_at[i]},
                         {"measured_s", fit.problem.measured[i]},
                         {"fitted_s", fit.solution.fitted[i]}});
  }
  row.residuals = residuals.dump();
  return row;
}

}  // namespace ddpprof::fit
