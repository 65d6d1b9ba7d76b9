#include <nlohmann/json.hpp>

#include "analysis/fit/all_reduce_fit.hpp"
#include "analysis/fit/solution_json.hpp"

namespace ddpprof::fit {

store::FitRow to_row(const AllReduceFit& fit) {
  store::FitRow row;
  row.name = "all_reduce";
  row.strategy = "ddp";
  row.usable = fit.usable ? 1 : 0;
  row.status = fit.status;
  row.points = static_cast<std::int64_t>(fit.points.size());
  if (fit.forms.empty()) {
    row.form = "none";
    return row;
  }
  const FormFit& picked = fit.picked();
  row.form = picked.form.name();
  row.median_relative_error = picked.solution.median_relative_error;
  row.parameters = parameters_json(picked.problem, picked.solution);
  row.covariance = covariance_json(picked.solution);
  nlohmann::json residuals = nlohmann::json::array();
  for (std::size_t i = 0; i < fit.points.size(); ++i) {
    residuals.push_back({{"workers", fit.points[i].machine.workers},
                         {"bytes", fit.points[i].bytes},
                         {"measured_s", fit.points[i].transfer_s},
                         {"fitted_s", picked.solution.fitted[i]},
                         {"concurrency", fit.points[i].concurrency},
                         {"source", fit.points[i].bench ? "bench-comm" : "step"}});
  }
  row.residuals = residuals.dump();
  return row;
}

}  // namespace ddpprof::fit
