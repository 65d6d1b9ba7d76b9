// Measures the configurations of a plan into one database, in order. Stops at the first that fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>

#include "runner/measure/installation.hpp"
#include "runner/measure/measurement.hpp"
#include "runner/measure/progress.hpp"
#include "runner/measure/side_folder.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::measure {

struct SweepOptions {
  std::filesystem::path database;  // logs, results and shards go to `<database>.d/`
  bool overwrite = false;
  std::string source;         // the text of the scenario file, "" without one
  std::string scenario_path;  // the path of the scenario file, "" without one
  WorkerMode mode = WorkerMode::train;
  ProgressForm progress = ProgressForm::none;
  Machine machine;            // models of this machine
  Installation installation;  // found before the database is made, so that a missing program is reported first
  bool resumable = false;     // true: the command has the option --resume
  // For a database that is continued:
  std::optional<std::int64_t> scenario_id;
  std::set<std::string> measured;  // configuration_name() of its measurements
};

// The database and the side folder of a sweep. The folder is locked while this exists.
struct SweepTarget {
  store::Database database;
  SideFolder folder;
};

// Creates the database and takes its side folder. Throws InvalidRequest if the database exists and must not be
// replaced, or cannot have this name. Throws CannotWrite if the file system refuses.
SweepTarget create_database(const SweepOptions& options);

// Writes the rows of table meta and the scenario. Returns the id of the scenario, nullopt without a scenario.
std::optional<std::int64_t> record_scenario(store::Database& database, const scenario::Scenario& scenario,
                                            const SweepOptions& options);

// Measures the configurations that options.measured does not name, and shows the progress on `progress`. Throws
// SweepFailed at the first configuration that fails, or when the user interrupts. Throws CannotWrite and DatabaseError.
void sweep(store::Database& database, const scenario::Scenario& scenario, const Plan& plan, const SweepOptions& options,
           std::ostream& progress);

}  // namespace ddpprof::measure
