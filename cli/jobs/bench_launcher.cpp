#include "cli/jobs/bench_launcher.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <system_error>

#include "analysis/report/report.hpp"
#include "cli/jobs/import_traces.hpp"
#include "cli/jobs/imported_database.hpp"
#include "cli/option_values.hpp"
#include "runner/job/comm_bench.hpp"
#include "runner/job/job_plan.hpp"
#include "runner/measure/installation.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

// The commands, one for each number of workers.
std::vector<std::vector<std::string>> commands_of(const BenchLauncher& bench) {
  const bool several = job::has_placeholder(bench.command, "workers");
  if (!several && !bench.workers.empty())
    throw Failure(ExitCode::usage, "--workers is given, and the command has no {workers}", "{workers} in the command",
                  "write --nproc-per-node {workers}, or leave --workers out");
  if (several && bench.workers.empty())
    throw Failure(ExitCode::usage, "the command has {workers}, and --workers is missing", "--workers, e.g. 2,4",
                  "give it, or write the number into the command");
  if (!several) return {bench.command};
  job::JobRequest request;
  request.command = bench.command;
  request.nodes = bench.nodes.value_or(1);
  std::vector<std::vector<std::string>> commands;
  for (const std::int64_t workers : bench.workers) commands.push_back(job::command_of(request, {workers, {}, 0}));
  return commands;
}

}  // namespace

ExitCode bench_launcher(const BenchLauncher& bench, Context& context) {
  const std::vector<std::vector<std::string>> commands = commands_of(bench);
  std::error_code error;
  if (bench.append)
    check_appendable(bench.database);
  else if (!bench.overwrite && fs::exists(bench.database, error))
    throw Failure(ExitCode::usage, bench.database + " exists", "a new file",
                  "give --overwrite to replace it, --append to add to it, or another file with --out");
  const fs::path folder = bench.database + ".comm";
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw Failure(ExitCode::usage, folder.string() + " is not a folder", "a folder for the output of the launcher",
                  "move it, or give another file with --out");
  std::vector<job::CommTimes> all;
  std::vector<fs::path> used;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    job::CommBench run;
    run.command = commands[i];
    run.script = measure::find_comm_script();
    run.folder = folder / fmt::format("run{}", i);
    run.backend = bench.backend;
    run.device = bench.device;
    run.timeout_s = bench.timeout_s;
    run.limit = std::chrono::seconds(bench.limit_s);
    if (!context.quiet)
      context.messages << fmt::format("ddpprof bench-comm: run {} of {}, at most {} s\n", i + 1, commands.size(),
                                      bench.limit_s)
                       << std::flush;
    all.push_back(job::time_collectives(run));
    used.push_back(run.folder);
  }
  const FillDatabase fill = [&](store::Database& into) {
    for (const job::CommTimes& times : all) job::store_times(into, times, bench.nodes);
  };
  const FillDatabase finish = [&](store::Database& made) {
    if (bench.append) fit_imported("bench-comm", made, context);
  };
  if (bench.append)
    append_to_database(bench.database, fill, finish);
  else
    make_database(bench.database, bench.overwrite, fill, finish);
  for (const fs::path& one : used) {  // only what this command wrote
    for (const char* file : {"results.json", "results.json.error", "output.log"}) fs::remove(one / file, error);
    fs::remove(one, error);
  }
  fs::remove(folder, error);
  for (const job::CommTimes& times : all)
    for (const import::Note& warning : job::warnings_of(times, bench.nodes))
      context.messages << fmt::format("ddpprof bench-comm: warning: {}; {}\n", warning.message, warning.advice);
  store::Database database = store::Database::open_read(bench.database);
  render(report::build_report(database, "comm"), bench.format, context.out, style_of(context));
  if (!context.quiet) context.messages << "database: " << bench.database << '\n';
  return ExitCode::done;
}

}  // namespace ddpprof::cli
