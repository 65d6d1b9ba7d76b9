#include "cli/jobs/import_traces.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <ostream>
#include <string>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/fit/table/step_csv.hpp"
#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/files/import_files.hpp"
#include "analysis/import/tables/tables.hpp"
#include "analysis/report/report.hpp"
#include "cli/jobs/imported_database.hpp"
#include "cli/option_values.hpp"
#include "cli/results.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario_queries/stored_scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

import::ImportOptions options_of(const TraceImport& request){import::ImportOptions options;
options.keep_raw = request.keep_raw;
options.batch_per_worker = request.batch_per_worker;
options.parameter_bytes = request.parameter_bytes;
options.nodes = request.nodes;
options.workers = request.workers;
options.cores = request.cores;
options.model = request.model;
options.model_of_several = std::filesystem::path(request.database).stem().string();
options.append = request.append;
return options;
}  // namespace

std::string number_of_ranks(std::int64_t world_size) {
  return world_size > 0 ? std::to_string(world_size) : "an unknown number";
}

void show_jobs(const TraceImport& request, const import::ImportResult& result, double seconds, Context& context) {
  if (result.jobs.size() > 1 || request.append)
    for (const import::ImportedJob& job : result.jobs)
      context.messages << fmt::format("ddpprof {}: measurement {}: N = {}, {}{} step{}, from {}\n", request.subcommand,
                                      job.measurement_id, number_of_ranks(job.world_size),
                                      job.batch_per_worker > 0 ? fmt::format("batch {}, ", job.batch_per_worker) : "",
                                      job.steps, job.steps == 1 ? "" : "s", job.file.string());
  const std::string of = result.jobs.size() > 1
                             ? fmt::format("{} jobs", result.jobs.size())
                             : fmt::format("{} rank{} of {}", result.ranks, result.ranks == 1 ? "" : "s",
                                           number_of_ranks(result.world_size));
  context.messages << fmt::format("ddpprof {}: {} event{} of {}, {} step{}, in {:.1f} s\n", request.subcommand,
                                  result.events, result.events == 1 ? "" : "s", of, result.steps,
                                  result.steps == 1 ? "" : "s", seconds);
}

std::shared_ptr<const fit::Models> import_all(const TraceImport& request, const import::InputFiles& files,
                                              Context& context) {
  std::shared_ptr<const fit::Models> models;
  import::FilesImport done;
  const auto begin = std::chrono::steady_clock::now();
  double seconds = 0.0;
  const auto fill = [&](store::Database& into) {
    done = import::import_files(into, files, options_of(request), request.log_ranks);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto finish = [&](store::Database& made) {
    if (!context.quiet && !files.traces.empty()) show_jobs(request, done.traces, seconds, context);
    if (!context.quiet && done.sweeps > 0)
      context.messages << fmt::format("ddpprof import: {} sweep{} of collectives\n", done.sweeps,
                                      done.sweeps == 1 ? "" : "s");
    if (!context.quiet && done.step_times > 0)
      context.messages << fmt::format("ddpprof import: {} step times of {} placement{}\n", done.step_times,
                                      done.placements, done.placements == 1 ? "" : "s");
    for (const std::string& warning : done.warnings) context.messages << "ddpprof import: warning: " << warning << '\n';
    models = fit_imported(request.subcommand, made, context);
  };
  if (request.append)
    append_to_database(request.database, fill, finish);
  else
    make_database(request.database, request.overwrite, fill, finish);
  return models;
}

}  // namespace ddpprof::cli

std::shared_ptr<const fit::Models> fit_imported(const std::string& subcommand, store::Database& database,
                                                Context& context) {
  std::optional<fit::PredictOptions> asked;
  try {
    asked = scenario_queries::stored_predict_options(database);
  } catch (const fit::NotSupported& error) {
    context.messages << "ddpprof " << subcommand << ": the stored scenario's options of predictions are not used: "
                     << error.what() << '\n';
  }
  const import::FittedImports fitted = import::fit_imports(database, asked);
  if (!fitted.no_prediction.empty())
    context.messages << "ddpprof " << subcommand << ": no prediction: " << fitted.no_prediction << '\n';
  return fitted.models;
}

ExitCode import_trace_files(const TraceImport& request, Context& context) {
  try {
    const import::InputFiles files = import::sort_inputs(request.inputs);
    for (const std::string& why : files.left_out) context.messages << "ddpprof import: left out: " << why << '\n';
    if (request.append && !files.tables.empty())
      throw Failure(ExitCode::usage,
                    files.tables.front().string() + " is a table of step times, which cannot be added to a database",
                    "traces or logs with --append", "give --out");
    if (request.log_ranks && files.logs.empty())
      throw Failure(ExitCode::usage, "--log-ranks needs a log of nccl-tests among the inputs");
    const std::shared_ptr<const fit::Models> models = import_all(request, files, context);
    store::Database database = store::Database::open_read(request.database);
    const char* report = import::report_of(files);
    if (files.traces.empty())
      render(report::build_report(database, report), request.format, context.out, style_of(context));
    else
      show_report(database, request.format, report, context, models);
    if (!context.quiet) context.messages << "database: " << request.database << '\n';
    return ExitCode::done;
  } catch (const import::OpenError& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const import::ImportError& error) {
    throw Failure(ExitCode::data, error.what());
  } catch (const import::TableError& error) {
    throw Failure(ExitCode::data, error.what());
  } catch (const import::LogError& error) {
    throw Failure(ExitCode::data, error.what());
  } catch (const fit::NcclTestsError& error) {
    throw Failure(ExitCode::data, error.what());
  } catch (const fit::CsvError& error) {
    throw Failure(ExitCode::data, error.what());
  }
}

}  // namespace ddpprof::cli
