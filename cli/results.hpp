// Fits, predictions and the report of a filled database.
#pragma once

#include <string>

#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// Fits and predicts, prints the report to standard output, and writes the exports that the scenario asks for. Returns
// `data` if the measurements cannot support a prediction; the report is printed anyway. Throws Failure if an export
// cannot be written.
ExitCode write_results(store::Database& database, const scenario::Scenario& scenario, report::Format format,
                       const std::string& subcommand, Context& context);

}  // namespace ddpprof::cli
