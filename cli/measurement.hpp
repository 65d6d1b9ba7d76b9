// Measures one configuration: starts its ranks, watches them, and puts what they recorded into the database.
// Ranks that somebody else started are recorded the same way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/installation.hpp"
#include "cli/plan.hpp"
#include "cli/progress.hpp"
#include "cli/rank_results.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

enum class WorkerMode { train, bench_comm };

struct MeasurementJob {
  scenario::Scenario scenario;
  Configuration configuration;
  WorkerMode mode = WorkerMode::train;
  std::int64_t cores = 1;
  std::string device, backend;
  Machine machine;  // of an import: not known
  std::optional<std::int64_t> scenario_id;
  std::string started_by, job;   // of ranks that somebody else started: torchrun, srun, …, and what the run is called
  std::filesystem::path folder;  // logs, results and shards of this measurement; made when missing
  Installation installation;
};

struct MeasurementOutcome {
  bool ok = false;
  bool interrupted = false;
  bool machine_lacks = false;   // a rank ended with "this machine lacks something" (exit code 3)
  bool scenario_wrong = false;  // a rank ended with exit code 2: data that does not fit the model, say
  std::int64_t measurement_id = 0;
  std::string message;  // when not ok: which rank, doing what, its last lines
};

// Never throws for a rank's fault: that is an outcome, and whatever was recorded is in the database with it. Throws
// Failure when files cannot be written, DatabaseError when the database cannot.
MeasurementOutcome measure(store::Database& database, const MeasurementJob& job, ProgressLine& progress,
                           const std::function<bool()>& interrupted);

// What the ranks of a measurement left, however they were started.
struct Recorded {
  bool ok = true;
  std::string message;  // when not ok: why
  RankResults results;
  std::vector<std::filesystem::path> shards;
  std::int64_t started_utc_ns = 0, wall_ns = 0;
  std::vector<store::DiagnosticRow> notes;  // measurement_id is filled in
};

// Puts it into the database; of `job` what says how it was measured. Returns the measurement's id. Throws
// DatabaseError.
std::int64_t record(store::Database& database, const MeasurementJob& job, const Recorded& recorded);

// "ddp-n4-r0": the configuration in a folder's name.
std::string configuration_name(const Configuration& configuration);

}  // namespace ddpprof::cli
