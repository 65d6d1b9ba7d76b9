// Measures one configuration: starts its ranks, watches them, and writes what they recorded into the database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "analysis/import/ranks/measurement_setup.hpp"
#include "runner/measure/error.hpp"
#include "runner/measure/plan.hpp"
#include "runner/measure/progress.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::measure {

using ranks::WorkerMode;

struct MeasurementJob {
  ranks::MeasurementSetup setup;
  std::filesystem::path folder;  // logs, results and shards of this measurement; made when missing
  std::filesystem::path worker;  // the program that each rank runs
};

struct MeasurementOutcome {
  std::int64_t measurement_id = 0;
  std::optional<MeasurementFailure> failure;  // which rank failed, in which activity, with its last lines of output
};

// Runs the job's ranks until they end, fail, hang, or `interrupted` returns true. A failed rank is an outcome and not
// an exception: the database has the measurement with everything that was recorded. Throws CannotWrite if a file cannot
// be written, DatabaseError if the database cannot.
MeasurementOutcome measure_configuration(store::Database& database, const MeasurementJob& job, ProgressLine& progress,
                                         const std::function<bool()>& interrupted);

// "ddp-n4-r0": strategy, workers and repeat, the name of the configuration's folder.
std::string configuration_name(const Configuration& configuration);

}  // namespace ddpprof::measure
