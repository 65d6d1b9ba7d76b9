#include "analysis/metrics/recorded_training.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <cctype>
#include <set>

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

}  // namespace

std::optional<RecordedTraining> recorded_training(SQLite::Database& db,
                                                  const std::vector<Configuration>& configurations) {
  const Configuration* first = of_models_workload(configurations);
  if (first == nullptr) return std::nullopt;
  RecordedTraining training{first->world_size, first->batch_per_worker, std::max<std::int64_t>(1, first->accumulation),
                            "", 0.0};
  for (const Configuration& c : configurations)
    if (workload_of(c) == workload_of(*first)) training.workers = std::min(training.workers, c.world_size);
  SQLite::Statement query(db,
                          "SELECT json_extract(options, '$.optimizer') FROM measurement WHERE id = ? AND "
                          "json_valid(options)");
  query.bind(1, first->measurements.front());
  if (query.executeStep() && query.getColumn(0).isText()) training.optimizer = query.getColumn(0).getString();
  std::set<double> rates;
  for (const Configuration& c : configurations)
    if (workload_of(c) == workload_of(*first) && c.world_size == training.workers)
      for (const std::int64_t measurement : c.measurements)
        if (const auto rate = learning_rate_of(db, measurement)) rates.insert(*rate);
  if (rates.size() == 1) training.learning_rate = *rates.begin();
  return training;
}

std::optional<bool> is_adaptive(std::string_view optimizer) {
  std::string name;
  for (const char c : optimizer) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  for (const char* family : {"adam", "rmsprop", "adagrad", "adadelta", "adafactor", "lamb", "lion"})
    if (has(family)) return true;
  if (has("sgd")) return false;
  return std::nullopt;
}

}  // namespace ddpprof::metrics
