// The way from a filled database to its report.
#pragma once

#include <string>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// What follows once the measurements are in the database: fits, predictions, the report on standard output, and the
// exports that the scenario asks for. `data` when the measurements cannot support a prediction: the report is printed
// all the same. Throws Failure when something cannot be written.
ExitCode conclude(store::Database& database, const scenario::Scenario& scenario, report::Format format,
                  const std::string& subcommand, Context& context);

}  // namespace ddpprof::cli
