// The stored scenarios of a database without names of the user: for ddpprof export --format anonymous.
#pragma once

#include <vector>

#include "analysis/export/export.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// Replaces the scenario's name, the words of a command, the files of models and data, and the paths of outputs. Keys
// with numbers and words of ddpprof stay, so predictions stay. Throws Failure (data) if a stored scenario is not valid
// in this version.
std::vector<export_::AnonymousScenario> anonymous_scenarios(store::Database&);

}  // namespace ddpprof::cli
