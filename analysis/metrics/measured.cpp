#include "analysis/metrics/measured.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/fit/measured/exposed_waits.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::metrics {
namespace {

constexpr const char* steps_query =
    "SELECT sh.measurement_id, m.repeat, st.step, st.kind, COUNT(*), AVG(st.duration_ns), MIN(st.duration_ns), "
    "SUM(st.samples) * CASE m.kind WHEN 'import' THEN COALESCE(CASE WHEN json_valid(m.options) THEN "
    "json_extract(m.options, '$.replicas') END, m.world_size) ELSE COUNT(DISTINCT sh.rank) END / "
    "COUNT(DISTINCT sh.rank), SUM(st.data_wait_ns), SUM(st.host_to_device_ns), SUM(st.buffers_ns), SUM(st.forward_ns), "
    "SUM(st.backward_ns), SUM(st.optimizer_ns), SUM(st.copy_ns), SUM(st.compute_ns), SUM(st.communication_ns), "
    "SUM(st.overlapped_ns), SUM(st.exposed_ns), SUM(st.skew_ns), AVG(st.loss), "
    "MAX(st.duration_ns), COUNT(DISTINCT sh.rank), CASE WHEN m.strategy = 'dp' THEN 1 "
    // In an import the existing ranks represent all ranks.
    "WHEN m.kind = 'import' THEN (SELECT COUNT(DISTINCT i.rank) FROM shard i WHERE i.measurement_id = m.id) "
    "ELSE m.world_size END, "
    "COUNT(st.loss), COALESCE(SUM(st.device_idle_ns), 0), COUNT(st.device_idle_ns) "
    "FROM step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id "
    "WHERE m.kind IN ('train', 'import') GROUP BY sh.measurement_id, st.step, st.kind "
    "ORDER BY sh.measurement_id, st.step, st.kind";

RunStep read_step(SQLite::Statement& row) {
  RunStep step;
  step.measurement = row.getColumn(0).getInt64();
  step.repeat = row.getColumn(1).getInt64();
  step.step = row.getColumn(2).getInt64();
  step.kind = row.getColumn(3).getString();
  const double ranks = row.getColumn(4).getDouble();
  step.duration_s = units::ns_to_s(row.getColumn(5).getDouble());
  step.fastest_s = units::ns_to_s(row.getColumn(6).getDouble());
  step.samples = row.getColumn(7).getInt64();
  int column = 8;
  for (double RunStep::*field :
       {&RunStep::data_wait_s, &RunStep::host_to_device_s, &RunStep::buffers_s, &RunStep::forward_s,
        &RunStep::backward_s, &RunStep::optimizer_s, &RunStep::copy_s, &RunStep::compute_s, &RunStep::communication_s,
        &RunStep::overlapped_s, &RunStep::exposed_s, &RunStep::skew_s}) {
    step.*field = units::ns_to_s(row.getColumn(column++).getDouble() / ranks);
  }
  // AVG ignores ranks without a loss (a loss that is not a number is stored as NULL), so it must not be used then.
  step.has_loss = row.getColumn(24).getInt64() == row.getColumn(4).getInt64();
  if (step.has_loss) step.loss = row.getColumn(20).getDouble();
  step.host_s = units::ns_to_s(row.getColumn(25).getDouble() / ranks);
  step.host_known = row.getColumn(26).getInt64() == row.getColumn(4).getInt64();
  step.slowest_s = units::ns_to_s(row.getColumn(21).getDouble());
  return step;
}

// Adds the exposed waiting of the measurement's ranks to its steps: the mean over the ranks, like the other parts.
class ExposedWaits {
 public:
  explicit ExposedWaits(SQLite::Database& db) : db_(db) {}
  double mean_s(const RunStep& step, std::int64_t ranks) {
    if (step.measurement != measurement_) {
      measurement_ = step.measurement;
      sums_ns_.clear();
      for (const fit::ExposedWait& wait : fit::exposed_waits(db_, measurement_))
        sums_ns_[{wait.step, wait.kind}] += static_cast<double>(wait.wait_ns);
    }
    const auto found = sums_ns_.find({step.step, step.kind});
    return found == sums_ns_.end() ? 0.0 : units::ns_to_s(found->second / static_cast<double>(ranks));
  }

 private:
  SQLite::Database& db_;
  std::int64_t measurement_ = -1;
  std::map<std::pair<std::int64_t, std::string>, double> sums_ns_;  // by step and kind
};

auto key(const Configuration& c) {
  return std::tie(c.model, c.strategy, c.batch_per_worker, c.accumulation, c.world_size, c.kind, c.backend, c.device,
                  c.precision, c.threads_per_rank, c.cores, c.nodes, c.parameter_count, c.parameter_bytes,
                  c.oversubscription, c.replicas);
}

Configuration read_configuration(SQLite::Statement& row) {
  Configuration c;
  int i = 1;
  for (std::string* text : {&c.kind, &c.strategy, &c.backend, &c.device, &c.model, &c.precision}) {
    *text = row.getColumn(i++).getString();
  }
  for (std::int64_t* number : {&c.world_size, &c.batch_per_worker, &c.accumulation, &c.threads_per_rank, &c.cores,
                               &c.nodes, &c.parameter_count, &c.parameter_bytes}) {
    *number = row.getColumn(i++).getInt64();
  }
  c.oversubscription = row.getColumn(i).getDouble();
  if (const SQLite::Column replicas = row.getColumn(17); !replicas.isNull()) c.replicas = replicas.getInt64();
  return c;
}

}  // namespace

std::vector<Configuration> read_configurations(SQLite::Database& db) {
  std::vector<Configuration> all;
  std::map<std::int64_t, std::size_t> of_measurement;
  SQLite::Statement measurements(
      db,
      "SELECT id, kind, strategy, backend, device, model, precision, world_size, batch_per_worker, accumulation, "
      "threads_per_rank, cores, nodes, parameter_count, parameter_bytes, oversubscription, status = 'failed', "
      "CASE WHEN kind = 'import' AND json_valid(options) THEN json_extract(options, '$.replicas') END "
      "FROM measurement "
      "WHERE kind IN ('train', 'import') ORDER BY model, strategy, batch_per_worker, accumulation, world_size, repeat, "
      "id");
  std::ptrdiff_t same_n = 0;  // rows are sorted, so the configurations before this one are not met again
  while (measurements.executeStep()) {
    const Configuration next = read_configuration(measurements);
    if (!all.empty() && all.back().world_size != next.world_size) same_n = std::ssize(all);
    auto found =
        std::find_if(all.begin() + same_n, all.end(), [&](const Configuration& c) { return key(c) == key(next); });
    if (found == all.end()) found = all.insert(all.end(), next);
    found->measurements.push_back(measurements.getColumn(0).getInt64());
    if (measurements.getColumn(16).getInt() != 0) found->failed.push_back(found->measurements.back());
    of_measurement[found->measurements.back()] = static_cast<std::size_t>(found - all.begin());
  }

  SQLite::Statement unknown(db, "SELECT DISTINCT measurement_id FROM diagnostic WHERE code IN (?, ?)");
  unknown.bind(1, store::device_not_recorded);
  unknown.bind(2, store::collective_kernels_unknown);
  while (unknown.executeStep())
    if (const auto found = of_measurement.find(unknown.getColumn(0).getInt64()); found != of_measurement.end())
      all[found->second].communication_known = false;

  SQLite::Statement bounds(db, "SELECT DISTINCT measurement_id FROM diagnostic WHERE code = ?");
  bounds.bind(1, store::world_size_unknown);
  while (bounds.executeStep())
    if (const auto found = of_measurement.find(bounds.getColumn(0).getInt64()); found != of_measurement.end())
      all[found->second].world_size_known = false;

  SQLite::Statement tables(db,
                           "SELECT id, COALESCE(json_extract(options, '$.sync_time'), 0) FROM measurement WHERE kind = "
                           "'import' AND json_valid(options) AND json_extract(options, '$.source') = 'step-table'");
  while (tables.executeStep())
    if (const auto found = of_measurement.find(tables.getColumn(0).getInt64()); found != of_measurement.end()) {
      all[found->second].step_times_only = true;
      if (tables.getColumn(1).getInt() == 0) all[found->second].communication_known = false;
    }

  SQLite::Statement steps(db, steps_query);
  ExposedWaits waits(db);
  while (steps.executeStep()) {
    RunStep step = read_step(steps);
    step.exposed_wait_s = waits.mean_s(step, steps.getColumn(4).getInt64());
    Configuration& configuration = all[of_measurement.at(step.measurement)];
    // A mean over fewer ranks would differ. Ranks are counted, not shards, because a forked child has its own shard.
    if (steps.getColumn(22).getInt64() < steps.getColumn(23).getInt64()) {
      if (step.kind == "measured") ++configuration.incomplete_steps;
      continue;
    }
    auto& kept = step.kind == "measured"    ? configuration.measured
                 : step.kind == "unwrapped" ? configuration.unwrapped
                 : step.kind == "untraced"  ? configuration.untraced
                                            : configuration.warmup;
    kept.push_back(std::move(step));
  }
  for (Configuration& configuration : all)
    if (!configuration.untraced.empty()) configuration.unprofiled = without_profiler(configuration);
  return all;
}

fit::WorkloadKey workload_of(const Configuration& c) {
  return {c.model, c.batch_per_worker, std::max<std::int64_t>(1, c.accumulation), c.precision, c.device};
}

const Configuration* of_models_workload(const std::vector<Configuration>& all) {
  const auto choose = [&](bool failed_too) -> const Configuration* {
    const auto counts = [&](const Configuration& c, std::int64_t id) {
      return failed_too || std::ranges::find(c.failed, id) == c.failed.end();
    };
    std::vector<fit::WorkloadMeasurement> measurements;
    for (const Configuration& c : all)
      for (const std::int64_t id : c.measurements)
        if (counts(c, id)) measurements.push_back({workload_of(c), c.strategy, c.world_size, id});
    const std::optional<fit::WorkloadKey> workload = fit::most_measured_workload(measurements);
    if (!workload) return nullptr;
    const Configuration* first = nullptr;
    std::int64_t first_id = 0;
    for (const Configuration& c : all) {
      if (workload_of(c) != *workload) continue;
      for (const std::int64_t id : c.measurements)
        if (counts(c, id) && (first == nullptr || id < first_id)) {
          first = &c;
          first_id = id;
        }
    }
    return first;
  };
  const Configuration* chosen = choose(false);
  return chosen != nullptr ? chosen : choose(true);
}

void Repeats::add(std::int64_t measurement, double value) { by_measurement_[measurement].push_back(value); }

std::size_t Repeats::size() const {
  std::size_t count = 0;
  for (const auto& [measurement, values] : by_measurement_) count += values.size();
  return count;
}

stats::Interval Repeats::median_interval() const {
  std::vector<std::vector<double>> repeats;
  for (const auto& [measurement, values] : by_measurement_) repeats.push_back(values);
  return stats::clustered_median_interval(repeats, confidence);
}

stats::Interval median_of(const std::vector<RunStep>& steps, double RunStep::*field) {
  Repeats repeats;
  for (const RunStep& step : steps) repeats.add(step.measurement, step.*field);
  return repeats.median_interval();
}

double throughput(const Configuration& configuration) {
  std::vector<double> samples;
  for (const RunStep& step : configuration.measured) samples.push_back(static_cast<double>(step.samples));
  return stats::median(samples) / median_of(configuration.timed(), &RunStep::duration_s).mid;
}

const Configuration* baseline(const std::vector<Configuration>& all, const Configuration& of) {
  const Configuration* found = nullptr;
  for (const Configuration& c : all) {
    if (c.world_size != 1 || c.measured.empty() || c.kind != of.kind || c.strategy != of.strategy ||
        c.model != of.model || c.device != of.device || c.precision != of.precision ||
        c.batch_per_worker != of.batch_per_worker || c.accumulation != of.accumulation) {
      continue;
    }
    // Prefer the configuration with the same number of threads per rank, otherwise the first.
    if (found == nullptr ||
        (c.threads_per_rank == of.threads_per_rank && found->threads_per_rank != c.threads_per_rank))
      found = &c;
  }
  return found;
}

}  // namespace ddpprof::metrics
