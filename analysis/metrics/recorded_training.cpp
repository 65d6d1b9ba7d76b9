#include "analysis/metrics/recorded_training.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <cctype>

namespace ddpprof::metrics {

std::optional<RecordedTraining> recorded_training(SQLite::Database& db,
                                                  const std::vector<Configuration>& configurations) {
  const Configuration* first = of_models_workload(configurations);
  if (first == nullptr) return std::nullopt;
  RecordedTraining training{first->world_size, first->batch_per_worker, std::max<std::int64_t>(1, first->accumulation),
                            ""};
  for (const Configuration& c : configurations)
    if (workload_of(c) == workload_of(*first)) training.workers = std::min(training.workers, c.world_size);
  SQLite::Statement query(db,
                          "SELECT json_extract(options, '$.optimizer') FROM measurement WHERE id = ? AND "
                          "json_valid(options)");
  query.bind(1, first->measurements.front());
  if (query.executeStep() && query.getColumn(0).isText()) training.optimizer = query.getColumn(0).getString();
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
