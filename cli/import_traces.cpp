#include "cli/import_traces.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "analysis/fit/predict.hpp"
#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/report/report.hpp"
#include "cli/sweep.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/error.hpp"

namespace ddpprof::cli {
namespace {

std::vector<std::filesystem::path> trace_files(const TraceImport& request) {
  std::vector<std::filesystem::path> files = import::expand_inputs(request.inputs);
  for (const std::filesystem::path& file : files) {
    const std::string name = file.string();
    switch (import::kind_of(file)) {
      case import::FileKind::json:
      case import::FileKind::sqlite:
        break;
      case import::FileKind::ours:
        throw Failure(ExitCode::usage, name + " is a database of ddpprof already", "another profiler's file",
                      "give it to 'ddpprof report' as it is");
      case import::FileKind::text:
        throw Failure(ExitCode::data, name + ": neither a trace nor a database",
                      "a PyTorch profiler's JSON, plain, gzip or zstd, or Nsight Systems' SQLite export");
      case import::FileKind::unreadable:
        if (!std::filesystem::exists(file))
          throw Failure(ExitCode::usage, name + ": no such file or folder",
                        "traces, or folders that ddpprof worker wrote", "correct the name");
        throw Failure(ExitCode::usage, name + " cannot be read", "a file, not a pipe, that may be read",
                      "write a pipe's output to a file first");
    }
  }
  return files;
}

// As a run ends with fits and predictions, so does an import; where it cannot carry them, its measurements still count.
ExitCode fit_imported(store::Database& database, std::int64_t world_size, Context& context) {
  try {
    fit::PredictOptions options;
    options.workers.clear();
    constexpr std::int64_t most_workers = 1'000'000;  // that predictions are made for
    for (std::int64_t factor = 1; factor <= 32; factor *= 2)
      if (world_size <= most_workers / factor) options.workers.push_back(world_size * factor);
    if (options.workers.empty()) return ExitCode::done;
    fit::write_fits(database, fit::fit_database(database));
    fit::write_predictions(database, fit::predict_all(database, options));
  } catch (const fit::NotSupported& error) {
    context.messages << "ddpprof import: no prediction: " << error.what() << '\n';
  }
  return ExitCode::done;
}

struct Imported {
  store::Database database;
  import::ImportResult result;
};

// Where nothing could be imported no empty database stays behind, and one that was to be replaced stays.
Imported imported(const TraceImport& request, const import::ImportOptions& options) {
  const std::filesystem::path target = request.database;
  const bool replaces = request.overwrite && import::kind_of(target) == import::FileKind::ours;
  SweepOptions create;
  create.database = replaces ? std::filesystem::path(request.database + ".importing") : target;
  create.overwrite = request.overwrite;
  std::error_code ignored;
  try {
    store::Database database = create_database(create);
    std::filesystem::remove_all(side_folder(create.database), ignored);  // for shards and logs: there are none
    try {
      import::ImportResult result = import::import_traces(database, options);
      database.finish_load();
      if (!replaces) return {std::move(database), std::move(result)};
      store::Database(std::move(database));  // closed before it takes the other's place
      std::filesystem::rename(create.database, target);
      std::filesystem::remove_all(side_folder(target), ignored);
      return {store::Database::open_write(target), std::move(result)};
    } catch (...) {
      std::filesystem::remove(create.database, ignored);
      throw;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Failure(ExitCode::failed, "cannot replace " + request.database + ": " + error.code().message());
  }
}

}  // namespace

ExitCode import_trace_files(const TraceImport& request, Context& context) {
  try {
    import::ImportOptions options;
    options.files = trace_files(request);
    options.keep_raw = request.keep_raw;
    options.batch_per_worker = request.batch_per_worker;
    options.parameter_bytes = request.parameter_bytes;
    options.nodes = request.nodes;
    options.cores = request.cores;
    options.model = request.model;
    const auto begin = std::chrono::steady_clock::now();
    auto [database, result] = imported(request, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!context.quiet)
      context.messages << fmt::format("ddpprof import: {} events of {} rank{} of {}, {} steps, in {:.1f} s\n",
                                      result.events, result.ranks, result.ranks == 1 ? "" : "s", result.world_size,
                                      result.steps, seconds);
    const ExitCode code = fit_imported(database, result.world_size, context);
    render(report::build_report(database, "imported"), request.format, context.out, context.width);
    if (!context.quiet) context.messages << "database: " << request.database << '\n';
    return code;
  } catch (const import::OpenError& error) {
    throw Failure(ExitCode::usage, error.what());
  } catch (const import::ImportError& error) {
    throw Failure(ExitCode::data, error.what());
  }
}

}  // namespace ddpprof::cli
