#include "cli/import_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include "analysis/export/temporary_file.hpp"
#include "analysis/fit/table/all_reduce_log.hpp"
#include "analysis/fit/table/step_csv.hpp"
#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/import/tables/tables.hpp"
#include "analysis/import/tables/text_file.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/step_table_prediction.hpp"
#include "analysis/report/report.hpp"
#include "cli/subcommand.hpp"
#include "runner/measure/sweep.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/files/error.hpp"

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

// Fits and predicts, as a run does. If the data cannot support a prediction, the measurements stay in the database.
ExitCode fit_imported(const TraceImport& request, store::Database& database, std::int64_t world_size,
                      Context& context) {
  try {
    fit::PredictOptions options;
    options.workers.clear();
    constexpr std::int64_t most_workers = 1'000'000;  // largest N of predictions
    for (std::int64_t factor = 1; factor <= 32; factor *= 2)
      if (world_size <= most_workers / factor) options.workers.push_back(world_size * factor);
    if (options.workers.empty()) return ExitCode::done;
    if (fit::stored_steps(database).empty()) fit::write_fits(database, fit::fit_database(database));
    fit::write_predictions(database, fit::predict_all(database, options));
  } catch (const fit::NotSupported& error) {
    context.messages << "ddpprof " << request.subcommand << ": no prediction: " << error.what() << '\n';
  }
  return ExitCode::done;
}

struct ImportedDatabase {
  measure::SideFolder folder;  // locked during the import, then removed: an import has neither shards nor logs
  store::Database database;
};

// Makes the database `file` and calls `fill(store::Database&)`. If `fill` throws, a new database is removed, and a
// database that would have been replaced stays with its folder. Throws Failure, measure::InvalidRequest if another run
// or import uses the database, store::DatabaseError if another process writes to it, and what `fill` throws.
template <class Fill>
ImportedDatabase imported_database(const std::string& file, bool overwrite, const Fill& fill) {
  const std::filesystem::path target = file;
  try {
    if (overwrite && import::kind_of(target) == import::FileKind::ours) {
      measure::SideFolder folder(measure::side_folder(target));
      folder.make();
      export_::TemporaryFile replacement(target, ".importing");
      {
        store::Database database = store::Database::create(replacement.path());
        fill(database);
        database.finish_load();
      }  // closed before it replaces the old database
      store::Database::replace(target, [&] { replacement.take_place(); });
      folder.remove_at_end();
      return {std::move(folder), store::Database::open_write(target)};
    }
    measure::SweepOptions create;
    create.database = target;
    create.overwrite = overwrite;
    measure::SweepTarget made = measure::create_database(create);
    made.folder.remove_at_end();
    try {
      fill(made.database);
      made.database.finish_load();
      return {std::move(made.folder), std::move(made.database)};
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(target, ignored);
      throw;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Failure(ExitCode::failed, "cannot replace " + file + ": " + error.code().message());
  }
}

ExitCode import_table(const TraceImport& request, const std::filesystem::path& file, Context& context) {
  const std::vector<fit::StepRow> rows = fit::read_step_csv(file);
  if (rows.empty()) throw Failure(ExitCode::data, file.string() + " has no rows", "one row per measurement");
  const std::string model = request.model.empty() ? file.stem().string() : request.model;
  std::int64_t placements = 0;
  ImportedDatabase made = imported_database(request.database, request.overwrite, [&](store::Database& into) {
    placements = import::import_step_table(into, rows, model);
  });
  if (!context.quiet)
    context.messages << fmt::format("ddpprof import: {} step times of {} placement{}\n", rows.size(), placements,
                                    placements == 1 ? "" : "s");
  return fit_imported(request, made.database, fit::largest_workers(rows), context);
}

ExitCode import_traces_and_logs(const TraceImport& request, const InputFiles& files, Context& context) {
  import::ImportOptions options;
  options.files = files.traces;
  options.keep_raw = request.keep_raw;
  options.batch_per_worker = request.batch_per_worker;
  options.parameter_bytes = request.parameter_bytes;
  options.nodes = request.nodes;
  options.cores = request.cores;
  options.model = request.model;
  import::ImportResult result;
  std::int64_t sweeps = 0;
  std::vector<std::string> warnings;
  const auto begin = std::chrono::steady_clock::now();
  ImportedDatabase made = imported_database(request.database, request.overwrite, [&](store::Database& into) {
    if (!options.files.empty()) result = import::import_traces(into, options);
    for (const std::filesystem::path& log : files.logs) {
      const fit::AllReduceLog collectives = fit::read_collectives(log, request.log_ranks);
      sweeps += import::import_nccl_log(into, collectives, log, {request.nodes});
      for (const std::string& warning : fit::messages_of(collectives))
        warnings.push_back(log.string() + ": " + warning);
    }
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!context.quiet && !files.traces.empty())
    context.messages << fmt::format("ddpprof {}: {} events of {} rank{} of {}, {} steps, in {:.1f} s\n",
                                    request.subcommand, result.events, result.ranks, result.ranks == 1 ? "" : "s",
                                    result.world_size, result.steps, seconds);
  if (!context.quiet && sweeps > 0)
    context.messages << fmt::format("ddpprof import: {} sweep{} of collectives\n", sweeps, sweeps == 1 ? "" : "s");
  for (const std::string& warning : warnings) context.messages << "ddpprof import: warning: " << warning << '\n';
  return files.traces.empty() ? ExitCode::done : fit_imported(request, made.database, result.world_size, context);
}

}  // namespace

ExitCode import_trace_files(const TraceImport& request, Context& context) {
  try {
    const InputFiles files = input_files(request, context);
    check_table(request, files);
    if (request.log_ranks && files.logs.empty())
      throw Failure(ExitCode::usage, "--log-ranks needs a log of nccl-tests among the inputs");
    const ExitCode code = files.tables.empty() ? import_traces_and_logs(request, files, context)
                                               : import_table(request, files.tables.front(), context);
    store::Database database = store::Database::open_read(request.database);
    const char* report = !files.traces.empty() ? "imported" : !files.tables.empty() ? "predictions" : "comm";
    render(report::build_report(database, report), request.format, context.out, context.width);
    if (!context.quiet) context.messages << "database: " << request.database << '\n';
    return code;
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
