// What was measured, as reports need it: per configuration and step, the run's step and the mean over its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/fit/workload_key.hpp"
#include "simulator/stats/interval.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::metrics {

// One step index of one measurement, all its ranks together. Times in seconds; parts are means over the ranks.
struct RunStep {
  std::int64_t measurement = 0, repeat = 0, step = 0;
  std::string kind;                     // warmup, measured or unwrapped
  double duration_s = 0;                // mean over the ranks: docs/design/the-step-of-a-run.md
  double fastest_s = 0, slowest_s = 0;  // of one rank
  std::int64_t samples = 0;             // over all ranks
  double data_wait_s = 0, host_to_device_s = 0, buffers_s = 0, forward_s = 0, backward_s = 0, optimizer_s = 0,
         copy_s = 0;
  double compute_s = 0, communication_s = 0, overlapped_s = 0, exposed_s = 0, skew_s = 0;
  double loss = 0;
  bool has_loss = false;  // known on every rank
};

// Measurements that differ in their repeat alone.
struct Configuration {
  std::string kind, strategy, backend, device, model, precision;
  std::int64_t world_size = 0, batch_per_worker = 0, accumulation = 0, threads_per_rank = 0, cores = 0, nodes = 0;
  std::int64_t parameter_count = 0, parameter_bytes = 0;
  double oversubscription = 0;
  std::vector<std::int64_t> measurements;  // ids, by repeat
  std::vector<std::int64_t> failed;        // of them, those whose status is failed
  std::vector<RunStep> measured, unwrapped, warmup;
  std::int64_t incomplete_steps = 0;  // measured steps that some rank did not record: left out

  std::int64_t global_batch() const { return world_size * batch_per_worker * accumulation; }
};

inline constexpr double confidence = 0.95;  // of every interval of a median

// Values by the measurement they come from, for intervals that keep the spread between repeats.
class Repeats {
 public:
  void add(std::int64_t measurement, double value);
  std::size_t size() const;                 // values in all
  stats::Interval median_interval() const;  // at `confidence`; throws std::invalid_argument on no values

 private:
  std::map<std::int64_t, std::vector<double>> by_measurement_;
};

// Training and imported measurements, ordered by model, strategy, batch, world size. Throws SQLite::Exception.
std::vector<Configuration> read_configurations(SQLite::Database&);

fit::WorkloadKey workload_of(const Configuration&);

// Returns the first measured configuration of the workload that the fitted models use (fit::most_measured_workload), or
// nullptr if there are no measurements. Failed measurements count only if all failed.
const Configuration* of_models_workload(const std::vector<Configuration>&);

// Median and 95 % interval. The steps of one repeat share what was peculiar to that run: repeats are resampled as
// wholes (stats::clustered_median_interval). Throws std::invalid_argument when there are no steps.
stats::Interval median_of(const std::vector<RunStep>& steps, double RunStep::*field);

double throughput(const Configuration&);  // samples/s: median samples of a step / median step

// The configuration with one worker that `of` scales from: equal but for N, its threads and backend. nullptr if none.
const Configuration* baseline(const std::vector<Configuration>&, const Configuration& of);

}  // namespace ddpprof::metrics
