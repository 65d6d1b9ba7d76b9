#include "cli/sweep.hpp"

#include <ctime>
#include <ostream>
#include <utility>

#include "cli/interruption.hpp"
#include "runner/scenario/read.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

std::string utc_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::optional<std::int64_t> record_scenario(store::Database& database, const scenario::Scenario& scenario,
                                            const SweepOptions& options) {
  store::BulkLoad load(database);
  store::Inserter<store::MetaRow> meta(database);
  meta.insert({"format", "ddpprof trace database"});
  meta.insert({"program_version", DDPPROF_VERSION});
  meta.insert({"created_utc", utc_text()});
  std::optional<std::int64_t> id;
  if (!options.source.empty()) {
    store::ScenarioRow row;
    row.name = scenario.name;
    row.path = fs::path(options.scenario_path).filename().string();
    row.source = options.source;
    row.resolved = scenario::to_yaml(scenario);
    id = store::Inserter<store::ScenarioRow>(database).insert(row);
  }
  load.commit();
  return id;
}

SweepTarget create_database(const SweepOptions& options) {
  if (!options.overwrite && fs::exists(options.database)) {
    throw Failure(ExitCode::usage, options.database.string() + " exists", "a new file",
                  std::string(options.resumable ? "give --resume to go on with it, or " : "give ") +
                      "--overwrite to replace it, or another file with --out");
  }
  if (const fs::path parent = options.database.parent_path(); !parent.empty() && !fs::is_directory(parent)) {
    throw Failure(ExitCode::usage, parent.string() + " is no folder", "an existing folder for --out", "make it first");
  }
  SideFolder folder(side_folder(options.database));
  if (!folder.empty() && !options.overwrite) {
    throw Failure(ExitCode::usage, folder.path().string() + " exists", "a new folder beside the database",
                  "give --overwrite, or another file with --out");
  }
  folder.make();  // before the database is touched: another run may be making it, or measuring into it
  try {
    store::Database database =
        store::Database::create(options.database, options.overwrite ? store::Replace::yes : store::Replace::no);
    folder.keep();
    folder.clear();
    return {std::move(database), std::move(folder)};
  } catch (const store::DatabaseError& error) {
    // A name that cannot be taken is the command line's fault; anything else is the system's.
    const bool theirs = error.kind() == store::ErrorKind::not_sqlite || error.kind() == store::ErrorKind::foreign ||
                        error.kind() == store::ErrorKind::exists || fs::is_directory(options.database);
    throw Failure(theirs ? ExitCode::usage : ExitCode::failed, error.what());
  }
}

SweepResult sweep(store::Database& database, const scenario::Scenario& scenario, const Plan& plan,
                  const SweepOptions& options, Context& context) {
  const std::optional<std::int64_t> scenario_id =
      options.scenario_id ? options.scenario_id : record_scenario(database, scenario, options);
  const InterruptionGuard guard;
  SweepResult result;
  {
    ProgressLine progress(context.messages, options.progress, static_cast<std::int64_t>(plan.configurations.size()));
    for (const Configuration& configuration : plan.configurations) {
      if (InterruptionGuard::interrupted()) break;
      if (options.measured.contains(configuration_name(configuration))) {
        progress.skip();
        ++result.measured;
        continue;
      }
      MeasurementJob job;
      job.scenario = scenario;
      job.configuration = configuration;
      job.mode = options.mode;
      job.cores = plan.cores;
      job.device = plan.device;
      job.backend = plan.backend;
      job.machine = options.machine;
      job.scenario_id = scenario_id;
      job.folder = side_folder(options.database) / configuration_name(configuration);
      job.installation = options.installation;
      const MeasurementOutcome outcome = measure(database, job, progress, InterruptionGuard::interrupted);
      if (!outcome.ok) {
        result.failure = outcome.message;
        result.machine_lacks = outcome.machine_lacks;
        result.scenario_wrong = outcome.scenario_wrong;
        break;
      }
      ++result.measured;
    }
    if (result.failure.empty() && !InterruptionGuard::interrupted()) progress.conclude();
  }
  if (result.failure.empty() && InterruptionGuard::interrupted()) result.failure = "Interrupted.";
  database.finish_load();
  return result;
}

Failure sweep_failure(const SweepResult& result, const Plan& plan, const SweepOptions& options) {
  return Failure(result.machine_lacks    ? ExitCode::machine
                 : result.scenario_wrong ? ExitCode::usage
                                         : ExitCode::failed,
                 result.failure + (result.failure.ends_with('\n') ? "" : "\n") + std::to_string(result.measured) +
                     " of " + std::to_string(plan.configurations.size()) +
                     " configurations were measured and are kept: ddpprof report " + options.database.string() +
                     (options.resumable ? "; the same command with --resume measures the rest" : "") +
                     "\nThe ranks' logs are in " + side_folder(options.database).string());
}

}  // namespace ddpprof::cli
