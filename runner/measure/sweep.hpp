// Measures every configuration of a plan into one database, in order, and stops at the first that fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>

#include "runner/measure/measurement.hpp"
#include "runner/measure/progress.hpp"
#include "runner/measure/side_folder.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::measure {

struct SweepOptions {
  std::filesystem::path database;  // the file; logs, results and shards go to `<database>.d/`
  bool overwrite = false;
  std::string source;         // the scenario's text as read, "" for none
  std::string scenario_path;  // its file, "" for none
  WorkerMode mode = WorkerMode::train;
  ProgressForm progress = ProgressForm::none;
  Machine machine;            // that it is measured on
  Installation installation;  // found before the database is made, so that a missing part costs nothing
  bool resumable = false;     // the command takes --resume
  // Of a database that is continued:
  std::optional<std::int64_t> scenario_id;
  std::set<std::string> measured;  // configuration_name() of what is in it
};

// Where a sweep goes, taken for as long as this lives.
struct SweepTarget {
  store::Database database;
  SideFolder folder;
};

// Creates the database and takes its side folder. Throws InvalidRequest if the database exists and must not be
// replaced, or cannot have this name. Throws CannotWrite if the file system refuses.
SweepTarget create_database(const SweepOptions& options);

// Writes what the file is and, where there is one, the scenario it was measured with; returns the scenario's id.
std::optional<std::int64_t> record_scenario(store::Database& database, const scenario::Scenario& scenario,
                                            const SweepOptions& options);

// Measures the configurations that options.measured does not name, and shows the progress on `progress`. Throws
// SweepFailed at the first configuration that fails, or when the user interrupts. Throws CannotWrite and DatabaseError.
void sweep(store::Database& database, const scenario::Scenario& scenario, const Plan& plan, const SweepOptions& options,
           std::ostream& progress);

}  // namespace ddpprof::measure
