#include "analysis/fit/solution_json.hpp"

#include <nlohmann/json.hpp>
#include <vector>

namespace ddpprof::fit {

std::string parameters_json(const Problem& problem, const Solution& solution) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();  // in the covariance's order
  for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    const bool bound = solution.at_bound[i];
    const char* state = parameter.fixed ? "fixed" : bound ? "at bound" : solution.identified[i] ? "fitted" : "assumed";
    // The delta method takes a logarithm's standard error back to the value's unit.
    const double error = parameter.logarithmic ? solution.values[i] * solution.x_sd[i] : solution.x_sd[i];
    parameters[parameter.name] = {
        {"value", solution.values[i]},
        {"unit", parameter.unit},
        {"standard_error", parameter.fixed || bound ? nlohmann::ordered_json() : nlohmann::ordered_json(error)},
        {"state", state},
        {"at_bound", bound},
        {"identified", static_cast<bool>(solution.identified[i])},
        {"fixed", parameter.fixed}};
  }
  return parameters.dump();
}

std::string covariance_json(const Solution& solution) {
  const std::size_t count = solution.x.size();
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(std::vector<double>(solution.x_covariance.begin() + static_cast<std::ptrdiff_t>(i * count),
                                       solution.x_covariance.begin() + static_cast<std::ptrdiff_t>((i + 1) * count)));
  }
  return rows.dump();
}

}  // namespace ddpprof::fit
