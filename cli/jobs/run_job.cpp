#include "cli/jobs/run_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>

#include "cli/jobs/import_traces.hpp"
#include "cli/results.hpp"
#include "runner/job/job_sweep.hpp"
#include "runner/job/trace_source.hpp"
#include "runner/measure/installation.hpp"
#include "runner/measure/sweep.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

// "train.db" for "torchrun --nproc-per-node 2 train.py"
std::string database_of(const std::vector<std::string>& command) {
  const auto script = std::ranges::find_if(
      command, [](const std::string& word) { return word.ends_with(".py") || word.ends_with(".sh"); });
  return fs::path(script == command.end() ? command.front() : *script).stem().string() + ".db";
}

std::string plan_text(const RunJob& run, const std::vector<job::JobRun>& plan) {
  std::string text = fmt::format("{} runs, at most {} s each\n", plan.size(), run.limit_s);
  for (const job::JobRun& one : plan)
    text += fmt::format("{:<16} {}\n", one.name(), fmt::join(job::command_of(run.request, one), " "));
  return text;
}

struct Begun {
  measure::SweepTarget target;
  std::set<std::string> measured;
};

Begun begin(const RunJob& run, const fs::path& database, Context& context) {
  std::error_code error;
  if (run.resume && fs::exists(database, error)) {
    measure::SideFolder folder(measure::side_folder(database));
    folder.make();
    store::Database opened = store::Database::open_write(database);
    opened.check();  // a power cut may have damaged it
    std::set<std::string> measured = job::measured_runs(opened, run.request);
    folder.keep();
    if (!context.quiet)
      context.messages << fmt::format("Resuming {}: {} runs are measured and kept.\n", database.string(),
                                      measured.size());
    return {{std::move(opened), std::move(folder)}, std::move(measured)};
  }
  if (run.resume && !context.quiet)
    context.messages << "There is no " << database.string() << " to resume: all runs are measured.\n";
  measure::SweepOptions options;
  options.database = database;
  options.overwrite = run.overwrite;
  options.resumable = true;
  Begun begun{measure::create_database(options), {}};
  static const scenario::Scenario none;  // static: g++ 12 warns of a temporary that may be uninitialised
  measure::record_scenario(begun.target.database, none, options);
  job::record_request(begun.target.database, run.request);
  return begun;
}

}  // namespace

ExitCode run_job(const RunJob& run, Context& context) {
  const std::vector<job::JobRun> plan = job::make_job_plan(run.request);
  if (run.dry_run) {
    context.out << plan_text(run, plan);
    return ExitCode::done;
  }
  const fs::path file = run.database.empty() ? database_of(run.request.command) : run.database;
  const job::TraceSource source =
      run.window ? job::injected_traces(measure::find_python_module(), *run.window) : job::own_traces();
  Begun begun = begin(run, file, context);
  store::Database& database = begun.target.database;
  job::JobSweepOptions options;
  options.folder = measure::side_folder(file);
  options.limit = std::chrono::seconds(run.limit_s);
  options.grace = std::chrono::seconds(run.grace_s);
  options.keep_traces = run.keep_traces;
  options.keep_raw = run.keep_raw;
  options.model = run.model.empty() ? file.stem().string() : run.model;
  options.cores = measure::available_cores();
  options.quiet = context.quiet;
  const job::JobSweepResult result =
      job::sweep_jobs(database, run.request, plan, source, begun.measured, options, context.messages);
  database.finish_load();
  if (result.measured > 0) {
    fit_imported("run", database, context);
    show_report(database, run.format, "summary", context);
    if (!context.quiet) context.messages << "database: " << file.string() << '\n';
  }
  if (result.failed.empty() && !result.interrupted) return ExitCode::done;
  context.messages << fmt::format("ddpprof run: {}{} of {} runs were measured",
                                  result.interrupted ? "interrupted; " : "", result.measured, plan.size());
  if (!result.failed.empty()) {
    std::vector<std::string> names;
    for (const job::FailedRun& failed : result.failed) names.push_back(failed.name);
    context.messages << fmt::format("; failed: {}", fmt::join(names, ", "));
  }
  context.messages << "; the same command with --resume measures the rest\n";
  return ExitCode::failed;
}

}  // namespace ddpprof::cli
