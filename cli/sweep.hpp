// Measures every configuration of a plan into one database, in order, and stops at the first that fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "cli/measurement.hpp"
#include "cli/progress.hpp"
#include "cli/side_folder.hpp"
#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

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

struct SweepResult {
  std::int64_t measured = 0;    // with those that were in the database already
  std::string failure;          // empty: every configuration was measured
  bool machine_lacks = false;   // the failure is something that this machine does not have
  bool scenario_wrong = false;  // or that the scenario cannot mean
};

// Creates the database (throws Failure (usage) when it exists and must not be overwritten). What was measured before
// a failure stays in it.
SweepTarget create_database(const SweepOptions& options);

// Writes what the file is and, where there is one, the scenario it was measured with; returns the scenario's id.
std::optional<std::int64_t> record_scenario(store::Database& database, const scenario::Scenario& scenario,
                                            const SweepOptions& options);

SweepResult sweep(store::Database& database, const scenario::Scenario& scenario, const Plan& plan,
                  const SweepOptions& options, Context& context);

// What to tell the user when the sweep did not get to its end.
Failure sweep_failure(const SweepResult& result, const Plan& plan, const SweepOptions& options);

}  // namespace ddpprof::cli
