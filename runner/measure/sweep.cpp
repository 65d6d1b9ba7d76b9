#include "runner/measure/sweep.hpp"

#include <SQLiteCpp/Statement.h>

#include <ctime>
#include <ostream>
#include <utility>

#include "runner/measure/error.hpp"
#include "runner/measure/interruption.hpp"
#include "runner/scenario/read.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::measure {
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

// An interrupted command may leave an empty file. The database's creation replaces it.
bool is_empty_file(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && fs::file_size(file, error) == 0;
}

// Returns true if the measurement has measured steps.
bool has_steps(store::Database& database, std::int64_t measurement_id) {
  SQLite::Statement query(database.sql(),
                          "SELECT EXISTS (SELECT 1 FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE "
                          "sh.measurement_id = ? AND st.kind = 'measured')");
  query.bind(1, measurement_id);
  return query.executeStep() && query.getColumn(0).getInt() != 0;
}

std::string failure_text(const MeasurementFailure& failure, std::int64_t measured, bool one_in_part, const Plan& plan,
                         const SweepOptions& options) {
  return failure.message + (failure.message.ends_with('\n') ? "" : "\n") + std::to_string(measured) + " of " +
         std::to_string(plan.configurations.size()) + " configurations were measured" +
         (one_in_part ? ", and 1 in part," : "") + " and are kept: ddpprof report " + options.database.string() +
         (options.resumable ? "; the same command with --resume measures the rest" : "") + "\nThe ranks' logs are in " +
         side_folder(options.database).string();
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
  if (!options.overwrite && fs::exists(options.database) && !is_empty_file(options.database)) {
    throw InvalidRequest(options.database.string() + " exists", "a new file",
                         std::string(options.resumable ? "give --resume to continue it, or " : "give ") +
                             "--overwrite to replace it, or another file with --out");
  }
  if (const fs::path parent = options.database.parent_path(); !parent.empty() && !fs::is_directory(parent)) {
    throw InvalidRequest(parent.string() + " is not a folder", "an existing folder for --out", "make it first");
  }
  SideFolder folder(side_folder(options.database));
  if (!folder.empty() && !options.overwrite) {
    throw InvalidRequest(folder.path().string() + " exists", "a new folder beside the database",
                         "give --overwrite, or another file with --out");
  }
  folder.make();  // takes the lock before the database is touched: another run may be using it
  try {
    store::Database database =
        store::Database::create(options.database, options.overwrite ? store::Replace::yes : store::Replace::no);
    folder.keep();
    folder.clear();
    return {std::move(database), std::move(folder)};
  } catch (const store::DatabaseError& error) {
    // A path that cannot be used is an error of the request; any other error comes from the system.
    const bool theirs = error.kind() == store::ErrorKind::not_sqlite || error.kind() == store::ErrorKind::foreign ||
                        error.kind() == store::ErrorKind::exists || fs::is_directory(options.database);
    if (theirs) throw InvalidRequest(error.what());
    throw CannotWrite(error.what());
  }
}

void sweep(store::Database& database, const scenario::Scenario& scenario, const Plan& plan, const SweepOptions& options,
           std::ostream& out) {
  const std::optional<std::int64_t> scenario_id =
      options.scenario_id ? options.scenario_id : record_scenario(database, scenario, options);
  const InterruptionGuard guard;
  std::int64_t measured = 0;  // includes the measurements of earlier runs
  std::optional<MeasurementFailure> failure;
  bool one_in_part = false;  // the failed configuration has measured steps
  {
    ProgressLine progress(out, options.progress, static_cast<std::int64_t>(plan.configurations.size()));
    for (const Configuration& configuration : plan.configurations) {
      if (InterruptionGuard::interrupted()) break;
      if (options.measured.contains(configuration_name(configuration))) {
        progress.skip();
        ++measured;
        continue;
      }
      MeasurementJob job;
      job.setup.scenario = configuration.batch_per_worker > 0
                               ? scenario::with_batch(scenario, configuration.batch_per_worker)
                               : scenario;
      job.setup.configuration = configuration;
      job.setup.mode = options.mode;
      job.setup.cores = plan.cores;
      job.setup.device = plan.device;
      job.setup.backend = plan.backend;
      job.setup.machine = options.machine;
      job.setup.scenario_id = scenario_id;
      job.setup.tracer = options.installation.tracer;
      job.folder = side_folder(options.database) / configuration_name(configuration);
      job.worker = options.installation.worker;
      const MeasurementOutcome outcome = measure_configuration(database, job, progress, InterruptionGuard::interrupted);
      failure = outcome.failure;
      one_in_part = failure && has_steps(database, outcome.measurement_id);
      if (failure) break;
      ++measured;
    }
    if (!failure && !InterruptionGuard::interrupted()) progress.show_fitting();
  }
  if (!failure && InterruptionGuard::interrupted()) failure = {MeasurementFailure::Cause::run, "Interrupted."};
  database.finish_load();
  if (failure) throw SweepFailed(*failure, failure_text(*failure, measured, one_in_part, plan, options));
}

}  // namespace ddpprof::measure
