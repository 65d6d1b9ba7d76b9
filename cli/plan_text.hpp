// The text of a measurement plan, for --dry-run and for the start of `ddpprof run`.
#pragma once

#include <string>

#include "runner/measure/plan.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::cli {

// Two lines: what is trained on what, and how often. plan_text adds a line for each configuration.
std::string plan_heading(const scenario::Scenario& scenario, const measure::Plan& plan);
std::string plan_text(const scenario::Scenario& scenario, const measure::Plan& plan);

}  // namespace ddpprof::cli
