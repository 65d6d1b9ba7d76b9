// The measurements of a file by configuration and step. Values of a step are means over its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/workload_key.hpp"
#include "simulator/stats/interval.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::metrics {

// One step of one measurement, over all its ranks. Times in seconds; parts are means over the ranks.
struct RunStep {
  std::int64_t measurement = 0, repeat = 0, step = 0;
  std::string kind;                     // warmup, measured, unwrapped or untraced
  double duration_s = 0;                // mean over the ranks: docs/design/the-step-of-a-run.md
  double fastest_s = 0, slowest_s = 0;  // the fastest and the slowest rank
  std::int64_t samples = 0;             // sum over all ranks
  double data_wait_s = 0, host_to_device_s = 0, buffers_s = 0, forward_s = 0, backward_s = 0, optimizer_s = 0,
         copy_s = 0;
  double compute_s = 0, communication_s = 0, overlapped_s = 0, exposed_s = 0, skew_s = 0;
  double exposed_wait_s = 0;  // of exposed_s: waiting for slower ranks (fit::exposed_waits)
  double host_s = 0;          // the device waits for the host's launches
  bool host_known = false;    // every rank recorded it; never on a CPU
  double loss = 0;
  bool has_loss = false;  // every rank recorded its loss
};

// Measurements that differ only in their repeat.
struct Configuration {
  std::string kind, strategy, backend, device, model, precision;
  std::int64_t world_size = 0, batch_per_worker = 0, accumulation = 0, threads_per_rank = 0, cores = 0, nodes = 0;
  std::int64_t parameter_count = 0, parameter_bytes = 0;
  double oversubscription = 0;
  // Ranks that process different samples, if these are not all ranks: the data parallel replicas of an import with
  // another parallelism. 0: unknown.
  std::optional<std::int64_t> replicas;
  std::vector<std::int64_t> measurements;  // ids, by repeat
  std::vector<std::int64_t> failed;        // those of `measurements` whose status is failed
  bool communication_known = true;         // false: its times were not recorded, and exposed_s is not known
  bool world_size_known = true;            // false: world_size is a lower bound
  bool step_times_only = false;            // a table of step times
  std::vector<RunStep> measured, unwrapped, untraced, warmup;
  std::vector<RunStep> unprofiled;  // without_profiler(); empty without untraced steps
  bool host_known() const { return !measured.empty() && measured.front().host_known; }
  std::int64_t incomplete_steps = 0;  // measured steps that a rank did not record; they are left out

  // The steps whose durations are the step time: those timed without the profiler if there are any, otherwise
  // `measured`.
  const std::vector<RunStep>& timed() const { return untraced.empty() ? measured : untraced; }
  // The steps whose parts are those of the step time: `measured`, without the cost of the profiler if it is known.
  const std::vector<RunStep>& parts() const { return untraced.empty() ? measured : unprofiled; }
  std::int64_t global_batch() const { return replicas.value_or(world_size) * batch_per_worker * accumulation; }
};

inline constexpr double confidence = 0.95;  // of all intervals of medians

// Values grouped by measurement, for intervals that include the spread between repeats.
class Repeats {
 public:
  void add(std::int64_t measurement, double value);
  std::size_t size() const;                 // number of values
  stats::Interval median_interval() const;  // at `confidence`; throws std::invalid_argument without values

 private:
  std::map<std::int64_t, std::vector<double>> by_measurement_;
};

// Returns trainings and imports, ordered by model, strategy, batch, world size. Throws SQLite::Exception.
std::vector<Configuration> read_configurations(SQLite::Database&);

// Returns the measured steps as they would be without the profiler (fit::ProfilerCost), as in predictions.
std::vector<RunStep> without_profiler(const Configuration&);

fit::WorkloadKey workload_of(const Configuration&);

// Returns the first measured configuration of the workload that the fitted models use (fit::most_measured_workload), or
// nullptr without measurements. Failed measurements count only if all failed.
const Configuration* of_models_workload(const std::vector<Configuration>&);

// Returns the median with its 95 % interval. Steps of one repeat are correlated, so whole repeats are resampled
// (stats::clustered_median_interval). Throws std::invalid_argument without steps.
stats::Interval median_of(const std::vector<RunStep>& steps, double RunStep::*field);

double throughput(const Configuration&);  // samples/s: median samples of a step / median step

// Returns the configuration with one worker that `of` is compared with: equal except for N, threads and backend.
// Otherwise nullptr.
const Configuration* baseline(const std::vector<Configuration>&, const Configuration& of);

}  // namespace ddpprof::metrics
