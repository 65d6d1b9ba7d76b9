#include "analysis/fit/copy_fit.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/fit/solution_json.hpp"
#include "analysis/fit/text.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double copy_least_sd =
    0.05;  // the four phases differ by more than their noise, because one rate models two phases
constexpr double copy_largest_usable_error = 0.5;
enum : std::size_t { overhead, from_root, to_root, own_copy };

bool leaves_root(const std::string& phase) { return phase == vocabulary::replicate || phase == vocabulary::scatter; }

}  // namespace

double CopyFit::copy_s(const std::string& phase, std::int64_t replicas, double bytes, std::span<const double> values) {
  const double rate = leaves_root(phase) ? values[from_root] : values[to_root];
  const auto count = static_cast<double>(replicas);
  return count * values[overhead] + (count - 1.0 + values[own_copy]) / count * bytes * rate;
}

step::DataParallelStep CopyFit::step_for(std::int64_t replicas, std::span<const double> values) const {
  const auto bytes = [&](const char* phase) {
    const auto found = bytes_per_replica.find(phase);
    return found == bytes_per_replica.end() ? 0.0 : found->second;
  };
  step::DataParallelStep step;
  step.replicas = replicas;
  step.parameter_bytes = bytes(vocabulary::replicate);
  step.input_bytes = bytes(vocabulary::scatter);
  step.output_bytes = bytes(vocabulary::gather);
  step.copy_overhead_s = values[overhead];
  step.root_s_per_byte = values[from_root];
  step.to_root_s_per_byte = values[to_root];
  step.own_copy = values[own_copy];
  return step;
}

CopyFit fit_copies(const std::vector<CopyPoint>& all_points, double parameter_bytes, bool own_devices) {
  CopyFit fit;
  std::int64_t largest = 0;
  for (const CopyPoint& point : all_points) {
    if (point.workers < 2 || !(point.duration_s > 0.0)) continue;
    CopyPoint kept = point;
    const auto replicas = static_cast<double>(point.workers);
    const bool parameters = point.phase == vocabulary::replicate || point.phase == vocabulary::reduce;
    if (!(kept.bytes > 0.0) && parameters) kept.bytes = replicas * parameter_bytes;  // copies without a size
    if (point.workers >= largest) fit.bytes_per_replica[point.phase] = kept.bytes / replicas;
    largest = std::max(largest, point.workers);
    fit.points.push_back(kept);
  }
  if (fit.points.empty()) {
    fit.status = "not usable: no copy of DataParallel was measured at more than one replica";
    return fit;
  }
  double limit_s = 1.0;
  for (const CopyPoint& point : fit.points) {
    fit.problem.measured.push_back(point.duration_s);
    fit.problem.sd.push_back(std::hypot(copy_least_sd, point.noise));
    limit_s = std::min(limit_s, 1.5 * point.duration_s / static_cast<double>(point.workers));
  }
  fit.problem.parameters = {
      {"copy_overhead", "s", std::log(10e-6), factor_of_ten, std::log(1e-9), std::log(limit_s), true, false},
      {"from_root", "s/byte", std::log(2e-10), factor_of_ten, std::log(1e-14), std::log(1e-5), true, false},
      {"to_root", "s/byte", std::log(2e-10), factor_of_ten, std::log(1e-14), std::log(1e-5), true, false},
      {"own_copy", "", std::log(own_devices ? 0.1 : 1.0), factor_of_ten, std::log(1e-3), std::log(10.0), true,
       !own_devices}};
  const std::vector<CopyPoint> points = fit.points;
  fit.problem.model = [points](std::span<const double> values, std::size_t index) {
    return CopyFit::copy_s(points[index].phase, points[index].workers, points[index].bytes, values);
  };
  fit.solution = solve(fit.problem);
  const double error = fit.solution.median_relative_error;
  fit.usable = fit.solution.converged && error <= copy_largest_usable_error;
  if (!fit.solution.converged) {
    fit.status = "not usable: the solver did not converge (" + fit.solution.message + ")";
  } else if (!fit.usable) {
    fit.status = "not usable: median relative error " + percent(error) + ", at most " +
                 percent(copy_largest_usable_error) + " accepted";
  } else {
    fit.status = "converged; copies through the root, " + rate_text(1.0 / fit.solution.values[from_root]) +
                 " out and " + rate_text(1.0 / fit.solution.values[to_root]) + " back";
    for (std::size_t i = 0; i < fit.problem.parameters.size(); ++i) {
      const std::string& name = fit.problem.parameters[i].name;
      if (fit.solution.at_bound[i]) {
        fit.status += "; parameter " + name + " at its bound";
      } else if (!fit.solution.identified[i] && !fit.problem.parameters[i].fixed) {
        fit.status += "; " + name + " is not separable: an assumed value is used";
      }
    }
  }
  return fit;
}

store::FitRow to_row(const CopyFit& fit) {
  store::FitRow row;
  row.name = "data_parallel";
  row.strategy = "dp";
  row.form = "copies-through-root";
  row.usable = fit.usable ? 1 : 0;
  row.status = fit.status;
  row.points = static_cast<std::int64_t>(fit.points.size());
  if (fit.points.empty()) return row;
  row.median_relative_error = fit.solution.median_relative_error;
  row.parameters = parameters_json(fit.problem, fit.solution);
  row.covariance = covariance_json(fit.solution);
  nlohmann::json residuals = nlohmann::json::array();
  for (std::size_t i = 0; i < fit.points.size(); ++i) {
    residuals.push_back({{"workers", fit.points[i].workers},
                         {"bytes", fit.points[i].bytes},
                         {"phase", fit.points[i].phase},
                         {"measured_s", fit.points[i].duration_s},
                         {"fitted_s", fit.solution.fitted[i]}});
  }
  row.residuals = residuals.dump();
  return row;
}

}  // namespace ddpprof::fit
