#include "cli/jobs/run_job.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>

#include "cli/jobs/import_traces.hpp"
#include "cli/jobs/record_python.hpp"
#include "cli/results.hpp"
#include "runner/job/job_sweep.hpp"
#include "runner/job/trace_source.hpp"
#include "runner/measure/installation.hpp"
#include "runner/measure/recording_bounds.hpp"
#include "runner/measure/sweep.hpp"
#include "runner/scenario/read.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

job::JobRequest request_of(const RunJob& run) {
  const scenario::Scenario& of = run.scenario;
  job::JobRequest request;
  request.command = of.command.words;
  request.workers = of.workers;
  request.batches = of.measure.batches;
  request.nodes = of.command.nodes;
  request.repeats = of.measure.repeats;
  request.learning_rate = of.command.learning_rate;
  // Absolute, because a launcher may change the folder. Without a file: the current folder.
  request.folder = fs::absolute(fs::path(run.path).parent_path() / ".").lexically_normal().parent_path().string();
  request.steps = of.command.window;
  request.of_file = !run.path.empty();
  return request;
}

// The window of ddpprof's Python module; nullopt: the job writes its traces itself.
std::optional<python_tracer::StepWindow> window_of_job(const scenario::Command& command, bool of_file) {
  const job::SettingNames& names = job::setting_names(of_file);
  measure::RecordingBounds bounds;
  if (!command.window.empty()) measure::parse_steps(command.window, bounds, names.steps);
  if (command.tracer == scenario::JobTracer::own && command.noise_steps > 0)
    throw Failure(
        ExitCode::usage,
        fmt::format("{} needs ddpprof's Python module, which {} own leaves out", names.noise_steps, names.tracer),
        fmt::format("{} torch", names.tracer), "leave out one of the two");
  if (command.tracer == scenario::JobTracer::own) return std::nullopt;
  const std::optional<python_tracer::StepWindow> window = window_of(bounds);
  if (!window) refuse_window(names.steps, command.window, fmt::format("{} torch", names.tracer));
  return window;
}

std::string plan_text(const RunJob& run, const job::JobRequest& request, const std::vector<job::JobRun>& plan) {
  std::string text = fmt::format("{} run{}, at most {} s each\n", plan.size(), plan.size() == 1 ? "" : "s",
                                 run.scenario.command.timeout_s);
  for (const job::JobRun& one : plan)
    text += fmt::format("{:<16} {}\n", one.name(), job::text_of(job::command_of(request, one)));
  return text;
}

// Stores the scenario of the file in place of an earlier one: later predictions use its options. Without a file, an
// earlier one stays.
void store_scenario(store::Database& database, const RunJob& run) {
  if (run.source.empty()) return;
  try {
    database.sql().exec("DELETE FROM scenario");
    store::ScenarioRow row;
    row.name = run.scenario.name;
    row.path = fs::path(run.path).filename().string();
    row.source = run.source;
    row.resolved = scenario::to_yaml(run.scenario);
    store::Inserter<store::ScenarioRow>(database).insert(row);
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

struct Begun {
  measure::SweepTarget target;
  std::set<std::string> measured;
  std::string model;  // of the earlier measurements
};

Begun begin(const RunJob& run, const job::JobRequest& request, const fs::path& database, Context& context) {
  std::error_code error;
  if (run.resume && fs::exists(database, error)) {
    measure::SideFolder folder(measure::side_folder(database));
    folder.make();
    store::Database opened = store::Database::open_write(database);
    opened.check();  // a power cut may have damaged it
    std::set<std::string> measured = job::measured_runs(opened, request);
    std::string model = job::measured_model(opened);
    store_scenario(opened, run);
    folder.keep();
    if (!context.quiet)
      context.messages << fmt::format("Resuming {}: {} runs are measured and kept.\n", database.string(),
                                      measured.size());
    if (!context.quiet && !model.empty() && model != run.scenario.name)
      context.messages << fmt::format("Their model has the name {}, which further runs get, too.\n", model);
    return {{std::move(opened), std::move(folder)}, std::move(measured), std::move(model)};
  }
  if (run.resume && !context.quiet)
    context.messages << "There is no " << database.string() << " to resume: all runs are measured.\n";
  measure::SweepOptions options;
  options.database = database;
  options.overwrite = run.overwrite;
  options.resumable = true;
  Begun begun{measure::create_database(options), {}, {}};
  static const scenario::Scenario none;  // static: g++ 12 warns of a temporary that may be uninitialised
  measure::record_scenario(begun.target.database, none, options);
  store_scenario(begun.target.database, run);
  job::record_request(begun.target.database, request);
  return begun;
}

}  // namespace

std::string name_of_command(const std::vector<std::string>& command) {
  const auto script = std::ranges::find_if(
      command, [](const std::string& word) { return word.ends_with(".py") || word.ends_with(".sh"); });
  return fs::path(script == command.end() ? command.front() : *script).stem().string();
}

void check_job(const RunJob& run) {
  window_of_job(run.scenario.command, !run.path.empty());
  job::make_job_plan(request_of(run));
}

ExitCode run_job(const RunJob& run, Context& context) {
  const scenario::Scenario& scenario = run.scenario;
  const job::JobRequest request = request_of(run);
  const std::optional<python_tracer::StepWindow> window = window_of_job(scenario.command, request.of_file);
  const std::vector<job::JobRun> plan = job::make_job_plan(request);
  const fs::path file = scenario.output.database.empty() ? scenario.name + ".db" : scenario.output.database;
  check_exports(scenario.output, file);
  if (run.dry_run) {
    context.out << plan_text(run, request, plan);
    return ExitCode::done;
  }
  job::require_programs(request, plan);
  const job::TraceSource source =
      window ? job::injected_traces(measure::find_python_module(), *window, scenario.command.noise_steps)
             : job::own_traces();
  Begun begun = begin(run, request, file, context);
  store::Database& database = begun.target.database;
  job::JobSweepOptions options;
  options.folder = measure::side_folder(file);
  options.limit = std::chrono::seconds(scenario.command.timeout_s);
  options.grace = std::chrono::seconds(scenario.command.grace_s);
  options.keep_traces = scenario.output.keep_traces;
  options.keep_raw = scenario.output.raw != scenario::RawEvents::none;
  options.model = begun.model.empty() ? scenario.name : begun.model;
  options.cores = measure::available_cores();
  options.quiet = context.quiet;
  const job::JobSweepResult result =
      job::sweep_jobs(database, request, plan, source, begun.measured, options, context.messages);
  if (const std::string warning = job::warn_of_threads(database); !warning.empty())
    context.messages << "ddpprof run: warning: " << warning << '\n';
  database.finish_load();
  if (result.measured > 0) {
    const auto models = fit_imported("run", database, context);
    show_report(database, run.format, "summary", context, models);
    write_exports(database, scenario.output);
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
