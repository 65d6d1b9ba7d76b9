// What a scenario asks to be concluded from its measurements: the options of fits, predictions and learning rates,
// and the way from a filled database to its report.
#pragma once

#include <string>

#include "analysis/fit/predict.hpp"
#include "analysis/report/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

fit::PredictOptions predict_options(const scenario::Scenario& scenario);
// An epoch of files whose number of samples the scenario leaves open has as many as the database's measurements found;
// throws Failure (data) when none did.
fit::LearningRateOptions learning_rate_options(const scenario::Scenario& scenario, store::Database& database);

// What follows once the measurements are in the database: fits, predictions, the report on standard output, and the
// exports that the scenario asks for. `data` when the measurements cannot support a prediction: the report is printed
// all the same. Throws Failure when something cannot be written.
ExitCode conclude(store::Database& database, const scenario::Scenario& scenario, report::Format format,
                  const std::string& subcommand, Context& context);

}  // namespace ddpprof::cli
