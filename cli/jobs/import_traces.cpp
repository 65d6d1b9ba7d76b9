#include "cli/jobs/import_traces.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/fit/table/step_csv.hpp"
#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/import/tables/tables.hpp"
#include "analysis/import/tables/text_file.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "analysis/report/report.hpp"
#include "cli/jobs/imported_database.hpp"
#include "cli/option_values.hpp"
#include "cli/results.hpp"
#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

// The input files by kind, in the order given.
struct InputFiles {
  std::vector<std::filesystem::path> traces, logs, tables;
};

// Returns true if the file may be a log although it starts as JSON does: a log with tags ("[1,0]<stdout>:",
// "[pod/launcher] "), because the elements of a trace's array are objects; or the JSON file of nccl-tests.
bool may_be_log(const std::filesystem::path& file) {
  std::ifstream text(file, std::ios::binary);
  char first = 0, second = 0;
  if (!(text >> first >> second)) return false;
  return first == '{' ? second == '"' : first == '[' && second != '{' && second != ']';
}

// Throws Failure if the file cannot be imported.
void add_input(const std::filesystem::path& file, InputFiles& files) {
  const std::string name = file.string();
  switch (import::kind_of(file)) {
    case import::FileKind::json:
      (may_be_log(file) && import::text_kind(file) == import::TextKind::nccl_log ? files.logs : files.traces)
          .push_back(file);
      break;
    case import::FileKind::sqlite:
    case import::FileKind::shard:
      files.traces.push_back(file);
      break;
    case import::FileKind::ours:
      throw Failure(ExitCode::usage, name + " is already a database of ddpprof", "another profiler's file",
                    "open it with 'ddpprof report'");
    case import::FileKind::text:
      switch (import::text_kind(file)) {
        case import::TextKind::step_table:
          files.tables.push_back(file);
          break;
        case import::TextKind::nccl_log:
          files.logs.push_back(file);
          break;
        case import::TextKind::neither:
          throw Failure(ExitCode::data, name + ": the format is unknown",
                        "a PyTorch profiler's JSON, plain, gzip or zstd, Nsight Systems' SQLite export, a CSV table of "
                        "step times, or the output of nccl-tests' all_reduce_perf");
      }
      break;
    case import::FileKind::unreadable:
      if (!std::filesystem::exists(file))
        throw Failure(ExitCode::usage, name + ": no such file or folder",
                      "traces, or folders that ddpprof worker wrote", "correct the name");
      throw Failure(ExitCode::usage, name + " cannot be read", "a readable file, not a pipe",
                    "write a pipe's output to a file first");
  }
}

// Files of a folder or pattern that cannot be imported are named and left out, unless none remains. A file that the
// user named must be importable.
InputFiles input_files(const TraceImport& request, Context& context) {
  InputFiles files;
  std::optional<Failure> first;
  for (const std::filesystem::path& file : import::expand_inputs(request.inputs)) {
    try {
      add_input(file, files);
    } catch (const Failure& failure) {
      if (std::ranges::find(request.inputs, file.string()) != request.inputs.end()) throw;
      context.messages << "ddpprof import: left out: " << failure.what() << '\n';
      if (!first) first = Failure(ExitCode::data, failure.what(), "a trace, a table or a log", "name other files");
    }
  }
  if (first && files.traces.empty() && files.tables.empty() && files.logs.empty()) throw Failure(*first);
  return files;
}

// A table of step times cannot be combined with other inputs: it has no parts of steps. Throws Failure.
void check_table(const TraceImport& request, const InputFiles& files) {
  if (files.tables.size() > 1)
    throw Failure(ExitCode::usage,
                  files.tables[0].string() + " and " + files.tables[1].string() + " are both tables of step times",
                  "one table", "put the rows into one file");
  if (files.tables.empty()) return;
  if (!files.traces.empty() || !files.logs.empty())
    throw Failure(ExitCode::usage,
                  files.tables[0].string() + " is a table of step times, and " +
                      (files.traces.empty() ? files.logs : files.traces)[0].string() + " is not",
                  "a table alone, or traces and logs", "import them into two databases");
  for (const auto& [given, option] : {std::pair{request.batch_per_worker, "--batch-per-worker"},
                                      {request.parameter_bytes, "--param-bytes"},
                                      {request.nodes, "--nodes"},
                                      {request.cores, "--cores"}})
    if (given) throw Failure(ExitCode::usage, std::string(option) + " is for traces; a table has it in its rows");
}

// Returns the imported N, and multiples of the largest. For a table of step times only the largest and its multiples,
// because its other rows may have other placements.
std::vector<std::int64_t> workers_to_predict(store::Database& database) {
  constexpr std::int64_t most_workers = 1'000'000;  // largest N of predictions
  std::vector<std::int64_t> workers;
  SQLite::Statement measured(database.sql(),
                             "SELECT DISTINCT world_size FROM measurement WHERE kind = 'import' AND world_size <= ? "
                             "ORDER BY world_size");
  measured.bind(1, most_workers);
  while (measured.executeStep()) workers.push_back(measured.getColumn(0).getInt64());
  if (workers.empty()) return workers;
  if (!fit::stored_steps(database).empty()) workers = {workers.back()};
  for (std::int64_t next = 2 * workers.back(), doublings = 0; doublings < 5 && next <= most_workers; next *= 2) {
    workers.push_back(next);
    ++doublings;
  }
  return workers;
}

void import_table(const TraceImport& request, const std::filesystem::path& file, Context& context) {
  if (request.append)
    throw Failure(ExitCode::usage, file.string() + " is a table of step times, which cannot be added to a database",
                  "traces or logs with --append", "give --out");
  const std::vector<fit::StepRow> rows = fit::read_step_csv(file);
  if (rows.empty()) throw Failure(ExitCode::data, file.string() + " has no rows", "one row per measurement");
  const std::string model = request.model.empty() ? file.stem().string() : request.model;
  std::int64_t placements = 0;
  make_database(
      request.database, request.overwrite,
      [&](store::Database& into) { placements = import::import_step_table(into, rows, model); },
      [&](store::Database& made) {
        if (!context.quiet)
          context.messages << fmt::format("ddpprof import: {} step times of {} placement{}\n", rows.size(), placements,
                                          placements == 1 ? "" : "s");
        fit_imported(request.subcommand, made, context);
      });
}

import::ImportOptions options_of(const TraceImport& request, const InputFiles& files){import::ImportOptions options;
options.files = files.traces;
options.keep_raw = request.keep_raw;
options.batch_per_worker = request.batch_per_worker;
options.parameter_bytes = request.parameter_bytes;
options.nodes = request.nodes;
options.cores = request.cores;
options.model = request.model;
options.model_of_several = std::filesystem::path(request.database).stem().string();
options.append = request.append;
return options;
}  // namespace

void show_jobs(const TraceImport& request, const import::ImportResult& result, double seconds, Context& context) {
  if (result.jobs.size() > 1 || request.append)
    for (const import::ImportedJob& job : result.jobs)
      context.messages << fmt::format("ddpprof {}: measurement {}: N = {}, {}{} step{}, from {}\n", request.subcommand,
                                      job.measurement_id, job.world_size,
                                      job.batch_per_worker > 0 ? fmt::format("batch {}, ", job.batch_per_worker) : "",
                                      job.steps, job.steps == 1 ? "" : "s", job.file.string());
  const std::string of = result.jobs.size() > 1 ? fmt::format("{} jobs", result.jobs.size())
                                                : fmt::format("{} rank{} of {}", result.ranks,
                                                              result.ranks == 1 ? "" : "s", result.world_size);
  context.messages << fmt::format("ddpprof {}: {} events of {}, {} steps, in {:.1f} s\n", request.subcommand,
                                  result.events, of, result.steps, seconds);
}

void import_traces_and_logs(const TraceImport& request, const InputFiles& files, Context& context) {
  const import::ImportOptions options = options_of(request, files);
  import::ImportResult result;
  std::int64_t sweeps = 0;
  std::vector<std::string> warnings;
  const auto begin = std::chrono::steady_clock::now();
  double seconds = 0.0;
  const auto fill = [&](store::Database& into) {
    if (!options.files.empty()) result = import::import_traces(into, options);
    for (const std::filesystem::path& log : files.logs) {
      const fit::AllReduceLog collectives = fit::read_collectives(log, request.log_ranks);
      sweeps += import::import_nccl_log(into, collectives, log, {request.nodes});
      for (const std::string& warning : fit::messages_of(collectives))
        warnings.push_back(log.string() + ": " + warning);
    }
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto finish = [&](store::Database& made) {
    if (!context.quiet && !files.traces.empty()) show_jobs(request, result, seconds, context);
    if (!context.quiet && sweeps > 0)
      context.messages << fmt::format("ddpprof import: {} sweep{} of collectives\n", sweeps, sweeps == 1 ? "" : "s");
    for (const std::string& warning : warnings) context.messages << "ddpprof import: warning: " << warning << '\n';
    fit_imported(request.subcommand, made, context);
  };
  if (request.append)
    append_to_database(request.database, fill, finish);
  else
    make_database(request.database, request.overwrite, fill, finish);
}

// Writes nothing if the database has neither ddp nor dp; predict_all then predicts a sharded training, or refuses.
void write_fits_of_ddp(store::Database& database) {
  try {
    fit::write_fits(database, fit::fit_database(database));
  } catch (const fit::NotSupported&) {
  }
}

}  // namespace ddpprof::cli

void fit_imported(const std::string& subcommand, store::Database& database, Context& context,
                  std::optional<fit::PredictOptions> asked) {
  fit::write_fits(database, {});
  fit::write_predictions(database, {});
  try {
    fit::PredictOptions options = asked.value_or(fit::PredictOptions{});
    if (!asked) options.workers = workers_to_predict(database);
    if (options.workers.empty()) return;
    if (fit::stored_steps(database).empty()) write_fits_of_ddp(database);
    fit::write_predictions(database, fit::predict_all(database, options));
  } catch (const fit::NotSupported& error) {
    context.messages << "ddpprof " << subcommand << ": no prediction: " << error.what() << '\n';
    fit::PredictResult none;
    none.notes = {fit::make_note("warning", "prediction_none", "no prediction: " + error.reason(), error.advice())};
    fit::write_predictions(database, none);
  }
}

ExitCode import_trace_files(const TraceImport& request, Context& context) {
  try {
    const InputFiles files = input_files(request, context);
    check_table(request, files);
    if (request.log_ranks && files.logs.empty())
      throw Failure(ExitCode::usage, "--log-ranks needs a log of nccl-tests among the inputs");
    if (files.tables.empty())
      import_traces_and_logs(request, files, context);
    else
      import_table(request, files.tables.front(), context);
    store::Database database = store::Database::open_read(request.database);
    const char* report = !files.traces.empty() ? "imported" : !files.tables.empty() ? "predictions" : "comm";
    if (files.traces.empty())
      render(report::build_report(database, report), request.format, context.out, style_of(context));
    else
      show_report(database, request.format, report, context);
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
