#include "analysis/metrics/recorded_training.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

namespace ddpprof::metrics {
namespace {

std::optional<double> learning_rate_of(SQLite::Database& db, std::int64_t measurement) {
  SQLite::Statement query(db,
                          "SELECT json_extract(options, '$.learning_rate') FROM measurement WHERE id = ? AND "
                          "json_valid(options)");
  query.bind(1, measurement);
  if (!query.executeStep() || query.getColumn(0).isNull()) return std::nullopt;
  const double rate = query.getColumn(0).getDouble();
  return rate > 0.0 ? std::optional(rate) : std::nullopt;
}

// Returns RecordedTraining::no_rate.
std::string reason_without_rate(SQLite::Database& db, const Configuration& first) {
  SQLite::Statement query(db, "SELECT 1 FROM diagnostic WHERE measurement_id = ? AND code = 'no_backward'");
  query.bind(1, first.measurements.front());
  if (query.executeStep())
    return "the steps have neither a backward nor an optimizer's step, so there is no learning rate";
  if (!first.replicas || *first.replicas == first.world_size) return "";
  if (*first.replicas == 0)
    return "the samples of a step are unknown, because ranks that divide a model process the same samples";
  return fmt::format(
      "the global batch at another N depends on how the ranks divide the model; a step here has {} samples: {} data "
      "parallel replica{} on {} ranks",
      first.global_batch() > 0 ? std::to_string(first.global_batch()) : "an unknown number of", *first.replicas,
      *first.replicas == 1 ? "" : "s", first.world_size);
}

}  // namespace

std::optional<RecordedTraining> recorded_training(SQLite::Database& db,
                                                  const std::vector<Configuration>& configurations) {
  const Configuration* first = of_models_workload(configurations);
  if (first == nullptr) return std::nullopt;
  RecordedTraining training{first->world_size, first->batch_per_worker, std::max<std::int64_t>(1, first->accumulation),
                            "", 0.0, {}};
  for (const Configuration& c : configurations)
    if (workload_of(c) == workload_of(*first)) training.workers = std::min(training.workers, c.world_size);
  SQLite::Statement query(db,
                          "SELECT json_extract(options, '$.optimizer'), json_extract(options, '$.betas[0]'), "
                          "json_extract(options, '$.betas[1]') FROM measurement WHERE id = ? AND json_valid(options)");
  query.bind(1, first->measurements.front());
  if (query.executeStep()) {
    if (query.getColumn(0).isText()) training.optimizer = query.getColumn(0).getString();
    if (!query.getColumn(1).isNull() && !query.getColumn(2).isNull())
      training.betas = {query.getColumn(1).getDouble(), query.getColumn(2).getDouble()};
  }
  training.no_rate = reason_without_rate(db, *first);
  std::set<double> rates;
  for (const Configuration& c : configurations)
    if (workload_of(c) == workload_of(*first) && c.world_size == training.workers)
      for (const std::int64_t measurement : c.measurements)
        if (const auto rate = learning_rate_of(db, measurement)) rates.insert(*rate);
  if (rates.size() == 1) training.learning_rate = *rates.begin();
  return training;
}

OptimizerFamily family_of(std::string_view optimizer) {
  std::string name;
  for (const char c : optimizer)
    if (c != '_') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // The first part that the name contains decides.
  constexpr std::array<std::pair<std::string_view, OptimizerFamily>, 18> parts{{
      {"lbfgs", OptimizerFamily::uncovered},
      {"rprop", OptimizerFamily::uncovered},
      {"muon", OptimizerFamily::uncovered},
      {"shampoo", OptimizerFamily::uncovered},
      {"adafactor", OptimizerFamily::uncovered},
      {"adadelta", OptimizerFamily::uncovered},
      {"adahessian", OptimizerFamily::uncovered},
      {"lion", OptimizerFamily::uncovered},
      {"sophia", OptimizerFamily::uncovered},
      {"signsgd", OptimizerFamily::uncovered},
      {"asgd", OptimizerFamily::uncovered},
      {"rmsprop", OptimizerFamily::rmsprop},
      {"adagrad", OptimizerFamily::adagrad},
      {"lamb", OptimizerFamily::lamb},
      {"adam", OptimizerFamily::adam},
      {"adaptive", OptimizerFamily::adam},
      {"lars", OptimizerFamily::lars},
      {"sgd", OptimizerFamily::sgd},
  }};
  const auto found =
      std::ranges::find_if(parts, [&](const auto& part) { return name.find(part.first) != std::string::npos; });
  return found == parts.end() ? OptimizerFamily::unknown : found->second;
}

learning_rate::AdamSettings usual_settings(OptimizerFamily family) {
  learning_rate::AdamSettings settings;
  if (family == OptimizerFamily::rmsprop) settings = {0.0, 0.99, settings.epsilon};  // α of torch.optim.RMSprop
  if (family == OptimizerFamily::adagrad) settings = {0.0, 0.0, settings.epsilon};
  return settings;
}

std::optional<bool> is_adaptive(std::string_view optimizer) {
  switch (family_of(optimizer)) {
    case OptimizerFamily::sgd:
    case OptimizerFamily::lars:
      return false;
    case OptimizerFamily::adam:
    case OptimizerFamily::rmsprop:
    case OptimizerFamily::adagrad:
    case OptimizerFamily::lamb:
      return true;
    case OptimizerFamily::unknown:
    case OptimizerFamily::uncovered:
      break;
  }
  return std::nullopt;
}

}  // namespace ddpprof::metrics
