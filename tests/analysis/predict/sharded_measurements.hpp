// Measurements of a sharded training that follow a known law: all-gathers and reduce-scatters are rings, the
// optimizer's time is proportional to the shard.
#pragma once

#include <SQLiteCpp/Transaction.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "analysis/fit/sharded/ring_fit.hpp"
#include "analysis/predict/predict.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/strategy/sharded_step.hpp"
#include "tests/store/shard_builder.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::fit {

inline constexpr double gather_latency_s = 0.1e-3, gather_s_per_byte = 4e-9, scatter_latency_s = 0.15e-3,
                        scatter_s_per_byte = 4e-9, replicas_latency_s = 0.18e-3, replicas_s_per_byte = 4e-9;
// The fit weighs its latency with a usual one, so predictions are near this law, not equal to it.
inline constexpr double near = 0.03;
inline constexpr double optimizer_s = 16e-3, other_s = 1e-3;  // the optimizer of all parameters

inline double ring_s(std::int64_t workers, double bytes, double latency_s, double s_per_byte) {
  const auto n = static_cast<double>(workers);
  if (workers <= 1) return 0.0;
  return (usual_fixed_hops + n - 1) * latency_s + (n - 1) / n * bytes * s_per_byte;
}

struct Unit {
  double bytes, forward_s, backward_s;
};
inline constexpr Unit units[] = {{0.0, 2e-3, 3e-3}, {1e6, 10e-3, 20e-3}, {4e6, 15e-3, 30e-3}, {2e6, 5e-3, 10e-3}};

// How a measurement is made. Links between hosts are slower by `between_factor`.
struct Made {
  std::string device = "cpu", strategy = "fsdp", backend = "gloo";
  std::int64_t nodes = 1, accumulation = 1, cores = 2, replicas = 1, threads = 1;
  std::optional<std::int64_t> ranks = std::nullopt;  // among which the units are sharded
  bool sizes = true;                                 // recorded
  bool gathers_again = true;                         // all units with parameters
  bool scatters_each = false;                        // in each micro-batch
  double unit_bytes = 0.0;                           // above 0: of all units
  double root_bytes = 0.0;                           // above 0: the root has parameters
  double exposed_factor = 1.0, skew_s = 0.0;
  double noise = 0.0;  // relative, of each time
};
inline constexpr double between_factor = 5.0;

inline double bytes_of(const Made& made, std::size_t unit) {
  if (unit == 0) return made.root_bytes;
  return made.unit_bytes > 0 ? made.unit_bytes : units[unit].bytes;
}

inline double gather_of(std::int64_t workers, double bytes, const Made& made = {}) {
  return (made.nodes > 1 ? between_factor : 1.0) * ring_s(workers, bytes, gather_latency_s, gather_s_per_byte);
}

inline double scatter_of(std::int64_t workers, double bytes, const Made& made = {}) {
  return (made.nodes > 1 ? between_factor : 1.0) * ring_s(workers, bytes, scatter_latency_s, scatter_s_per_byte);
}

// HSDP: the shards of N / replicas ranks have replicas.
inline std::int64_t shards_of(std::int64_t workers, const Made& made) {
  return std::max<std::int64_t>(1, workers / made.replicas);
}

// The all-reduce of a shard over its replicas.
inline double replicas_of(std::int64_t workers, double bytes, const Made& made) {
  return ring_s(made.replicas, bytes / static_cast<double>(shards_of(workers, made)), replicas_latency_s,
                replicas_s_per_byte);
}

inline double compute_s(std::int64_t workers, const Made& made = {}) {
  double sum_s = 0.0;
  for (const Unit& unit : units) sum_s += unit.forward_s + unit.backward_s;
  return static_cast<double>(made.accumulation) * sum_s + optimizer_s / static_cast<double>(shards_of(workers, made));
}

inline strategy::ShardedOutcome simulated(std::int64_t workers, const Made& made) {
  strategy::ShardedStep step;
  step.waits = made.device == "cpu";
  step.micro_batches = made.accumulation;
  step.scatters_each_micro_batch = made.scatters_each;
  const std::int64_t shards = shards_of(workers, made);
  for (std::size_t i = 0; i < std::size(units); ++i) {
    const double bytes = bytes_of(made, i);
    step.units.push_back({units[i].forward_s, units[i].backward_s, bytes > 0 ? gather_of(shards, bytes, made) : 0.0,
                          bytes > 0 ? scatter_of(shards, bytes, made) + replicas_of(workers, bytes, made) : 0.0,
                          bytes > 0 && made.gathers_again});
  }
  return simulate(step);
}

// FSDP waits for its collectives on a CPU: all of them are exposed.
inline double exposed_s(std::int64_t workers) {
  double sum_s = 0;
  for (const Unit& unit : units)
    if (unit.bytes > 0) sum_s += 2 * gather_of(workers, unit.bytes) + scatter_of(workers, unit.bytes);
  return sum_s;
}

inline std::int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

class Sharded : public testing::Test {
 protected:
  void measure(std::int64_t workers, const Made& made = {}) {
    store::MeasurementRow measurement;
    measurement.kind = "import";
    measurement.strategy = made.strategy;
    measurement.device = made.device;
    measurement.backend = made.backend;
    measurement.nodes = made.nodes;
    measurement.world_size = workers;
    measurement.batch_per_worker = 32;
    measurement.accumulation = made.accumulation;
    measurement.cores = made.cores;
    measurement.threads_per_rank = made.threads;
    measurement.options = R"({"optimizer": "AdamW"})";
    SQLite::Transaction transaction(database_.sql());
    const std::int64_t id = store::Inserter<store::MeasurementRow>(database_).insert(measurement);
    for (std::size_t i = 0; i < std::size(units); ++i) {
      store::ShardedUnitRow row;
      row.measurement_id = id;
      row.unit = static_cast<std::int64_t>(i);
      row.root = i == 0 ? 1 : 0;
      row.ranks = made.ranks;
      const auto bytes = static_cast<std::int64_t>(bytes_of(made, i));
      if (workers > 1 && made.sizes) row.gathered_bytes = row.scattered_bytes = bytes;
      if (workers > 1 && bytes > 0) row.gathers_again = made.gathers_again ? 1 : 0;
      store::Inserter<store::ShardedUnitRow>(database_).insert(row);
    }
    for (std::int64_t rank = 0; rank < workers; ++rank) {
      store::ShardRow shard;
      shard.measurement_id = id;
      shard.rank = rank;
      const std::int64_t shard_id = store::Inserter<store::ShardRow>(database_).insert(shard);
      for (std::int64_t number = 0; number < 8; ++number) add_step(shard_id, number, workers, made);
    }
    transaction.commit();
  }

  double noisy(double seconds, const Made& made) { return seconds * std::exp(made.noise * random_.normal()); }

  void add_step(std::int64_t shard_id, std::int64_t number, std::int64_t workers, const Made& made) {
    store::StepRow step;
    step.shard_id = shard_id;
    step.step = number;
    step.optimizer_ns = ns(noisy(optimizer_s / static_cast<double>(shards_of(workers, made)), made));
    const double exposed = workers > 1 ? made.exposed_factor * simulated(workers, made).exposed_s() + made.skew_s : 0.0;
    step.exposed_ns = step.communication_ns = ns(noisy(exposed, made));
    step.skew_ns = workers > 1 ? ns(made.skew_s) : 0;
    step.duration_ns = ns(noisy(compute_s(workers, made) + other_s, made)) + step.exposed_ns;
    const std::int64_t step_id = store::Inserter<store::StepRow>(database_).insert(step);
    store::Inserter<store::ShardedWorkRow> rows(database_);
    for (std::size_t i = 0; i < std::size(units); ++i) {
      const Unit& unit = units[i];
      store::ShardedWorkRow work;
      work.step_id = step_id;
      work.unit = static_cast<std::int64_t>(i);
      const auto micro_batches = static_cast<double>(made.accumulation);
      work.busy_ns = work.end_ns = ns(noisy(micro_batches * unit.forward_s, made));
      rows.insert(work);
      work.pass = "backward";
      work.busy_ns = work.end_ns = ns(noisy(micro_batches * unit.backward_s, made));
      rows.insert(work);
      const double bytes = bytes_of(made, i);
      if (workers < 2 || bytes == 0) continue;
      work.busy_ns = std::nullopt;
      work.bytes = made.sizes ? static_cast<std::int64_t>(bytes) : 0;
      const auto add = [&](const char* action, double seconds) {
        work.action = action;
        work.end_ns = ns(noisy(seconds, made));
        work.exposed_ns = work.end_ns;
        rows.insert(work);
      };
      for (std::int64_t pass = 0; pass < made.accumulation * (made.gathers_again ? 2 : 1); ++pass)
        add("all_gather", gather_of(shards_of(workers, made), bytes, made));
      for (std::int64_t pass = 0; pass < (made.scatters_each ? made.accumulation : 1); ++pass)
        add("reduce_scatter", scatter_of(shards_of(workers, made), bytes, made));
      work.bytes = work.bytes.value_or(0) / shards_of(workers, made);
      if (made.replicas > 1) add("all_reduce", replicas_of(workers, bytes, made));
    }
  }

  // N is refused, with a note that has the text.
  void expect_refused(std::int64_t workers, const std::string& text, PredictOptions options = {}) {
    options.workers = {workers};
    options.dedicated = true;
    try {
      const PredictResult result = predict_all(database_, options);
      EXPECT_TRUE(result.predictions.empty()) << result.predictions.front().step_s;
      ASSERT_FALSE(result.notes.empty());
      EXPECT_THAT(result.notes.front().message, testing::HasSubstr(text));
    } catch (const NotSupported& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  }

  bool noted(const std::string& code, const std::string& text) const {
    return std::ranges::any_of(result_.notes, [&](const Note& note) {
      return note.code == code && note.message.find(text) != std::string::npos;
    });
  }

  std::map<std::int64_t, Prediction> predicted(bool dedicated = true, PredictOptions options = {}) {
    options.workers = {1, 2, 4, 8};
    options.dedicated = dedicated;
    result_ = predict_all(database_, options);
    std::map<std::int64_t, Prediction> rows;
    for (const Prediction& row : result_.predictions) rows[row.world_size] = row;
    return rows;
  }

  test::TemporaryFolder folder_;
  store::Database database_ = store::Database::create(folder_ / "a.db");
  PredictResult result_;
  stats::Random random_{7};
};

}  // namespace ddpprof::fit
