// How a measurement was made, and what its ranks left: the input of record_measurement().
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/ranks/rank_results.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::ranks {

enum class WorkerMode { train, bench_comm };

struct Configuration {
  scenario::Strategy strategy = scenario::Strategy::ddp;
  std::int64_t workers = 1;  // ranks of DDP, replicas of DataParallel
  std::int64_t repeat = 0;
  std::int64_t threads_per_rank = 1;
  double oversubscription = 1.0;      // compute threads of all workers / cores
  std::int64_t batch_per_worker = 0;  // if the scenario measures several batches, else 0: the scenario's

  std::int64_t processes() const { return strategy == scenario::Strategy::dp ? 1 : workers; }
};

// Models of the processor and the GPUs. Two measurements on different models are not comparable. Empty: unknown.
struct Machine {
  std::string processor, gpu;  // several GPU models: each once
};

struct MeasurementSetup {
  scenario::Scenario scenario;
  Configuration configuration;
  WorkerMode mode = WorkerMode::train;
  std::int64_t cores = 1;
  std::string device, backend;
  Machine machine;  // empty for an import
  std::optional<std::int64_t> scenario_id;
  std::string started_by, job;   // ranks of another launcher: torchrun, srun, …, and the name of the run
  std::filesystem::path tracer;  // the library that was injected; empty for an import
};

// The results and shards of a measurement, independent of how its ranks were started.
struct Recorded {
  std::optional<std::string> failure;  // why the measurement is incomplete; nullopt: every rank reached its end
  RankResults results;
  std::vector<std::filesystem::path> shards;
  std::int64_t started_utc_ns = 0, wall_ns = 0;
  std::vector<store::DiagnosticRow> notes;  // record_measurement() fills in measurement_id
};

// Writes a measurement with its rows into the database and returns its id. Throws DatabaseError.
std::int64_t record_measurement(store::Database& database, const MeasurementSetup& setup, const Recorded& recorded);

}  // namespace ddpprof::ranks
