// The text of a measurement plan, for --dry-run and for the start of `ddpprof run`.
#pragma once

#include <string>

#include "runner/measure/plan.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::cli {

// Two lines: the workload with its device, and the number of measurements. plan_text() adds a line per configuration.
std::string plan_heading(const scenario::Scenario& scenario, const measure::Plan& plan);
std::string plan_text(const scenario::Scenario& scenario, const measure::Plan& plan);

}  // namespace ddpprof::cli
