#include "runner/scenario_queries/options.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <vector>

#include "analysis/metrics/gradient_noise.hpp"
#include "runner/scenario_queries/measurement_options.hpp"

namespace ddpprof::scenario_queries {
namespace {

// Measured and predicted worker counts together, so that predictions stand beside measurements.
std::vector<std::int64_t> all_workers(const scenario::Scenario& scenario) {
  std::vector<std::int64_t> workers = scenario.workers;
  workers.insert(workers.end(), scenario.predict.workers.begin(), scenario.predict.workers.end());
  std::sort(workers.begin(), workers.end());
  workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
  return workers;
}

std::int64_t epoch_samples(const scenario::Data& data, store::Database& database) {
  if (const auto known = data.known_samples()) return *known;
  SQLite::Statement query(database.sql(), "SELECT options FROM measurement WHERE kind = 'train' ORDER BY id DESC");
  while (query.executeStep()) {
    const nlohmann::json options = options_of(query.getColumn(0).getString());
    if (options.is_object() && options.contains("samples") && options["samples"].is_number_integer())
      return options["samples"].get<std::int64_t>();
  }
  throw fit::NotSupported(
      "no measurement in " + database.path().string() +
          " has the number of samples of its data (expected a measurement in which a rank reached its end)",
      "measure again, or set workload.data.samples");
}

bool trained_by_whole_epochs(store::Database& database) {
  SQLite::Statement query(database.sql(), "SELECT options FROM measurement WHERE kind = 'train'");
  while (query.executeStep()) {
    if (!spans_epochs(options_of(query.getColumn(0).getString()))) return true;
  }
  return false;
}

}  // namespace

fit::PredictOptions predict_options(const scenario::Scenario& scenario) {
  fit::PredictOptions options;
  options.workers = all_workers(scenario);
  options.gpus_per_node = scenario.predict.gpus_per_node;
  options.inter_node = collective::parse_node_links(scenario.predict.inter_node);
  options.confidence = scenario.predict.confidence;
  options.dedicated = scenario.predict.sharing == scenario::Sharing::dedicated;
  return options;
}

fit::LearningRateOptions learning_rate_options(const scenario::Scenario& scenario, store::Database& database) {
  fit::LearningRateOptions options;
  options.workers = all_workers(scenario);
  options.base_lr = scenario.learning_rate.base;
  options.base_workers = scenario.learning_rate.base_workers;
  options.tuned_batch = scenario.learning_rate.base_batch;
  options.samples_per_worker = scenario.workload.batch_per_worker * scenario.workload.accumulation;
  options.samples = epoch_samples(scenario.workload.data, database);
  options.drop_last = scenario.workload.data.drop_last;
  options.warmup_epochs = scenario.learning_rate.warmup_epochs;
  options.epochs = scenario.learning_rate.epochs;
  options.adaptive_optimizer = scenario.workload.optimizer.kind != scenario::OptimizerKind::sgd;
  options.rule = scenario.learning_rate.rule;
  options.decay = scenario.learning_rate.decay;
  options.applied = scenario.learning_rate.apply && !trained_by_whole_epochs(database);
  if (options.rule == learning_rate::Rule::adascale) {
    const std::vector<metrics::MeasuredNoise> measured = metrics::measured_noise(database);
    if (const auto band = metrics::concluding_band(measured, options.base_batch()))
      options.noise_scale_samples = band->noise_scale_samples.mid;
  }
  return options;
}

}  // namespace ddpprof::scenario_queries
