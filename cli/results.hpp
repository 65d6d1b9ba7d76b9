// Fits, predictions and the report of a filled database.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/predict/predict.hpp"
#include "analysis/report/render/render.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// Prints the report that ends a command: the answer on one screen, or the report `full_report` with --full and in
// formats for programs. `models`: fitted to the measurements before; null: the report fits them if it needs them.
void show_report(store::Database& database, report::Format format, std::string_view full_report, Context& context,
                 const std::shared_ptr<const fit::Models>& models = nullptr);

// Throws Failure if an export that the scenario asks for cannot have its path.
void check_exports(const scenario::Output& output, const std::filesystem::path& database);

// Writes the exports that the scenario asks for. Throws Failure if one cannot be written.
void write_exports(store::Database& database, const scenario::Output& output);

// Fits and predicts, prints the report to standard output, and writes the exports that the scenario asks for. Returns
// `data` if the measurements cannot support a prediction; the report is printed anyway. Throws Failure if an export
// cannot be written.
ExitCode write_results(store::Database& database, const scenario::Scenario& scenario, report::Format format,
                       const std::string& subcommand, Context& context);

}  // namespace ddpprof::cli
