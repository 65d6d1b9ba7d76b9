// What imported measurements contain about the training that a learning rate depends on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/measured.hpp"

namespace ddpprof::metrics {

// Numbers are 0 and texts are empty if they are unknown.
struct RecordedTraining {
  std::int64_t workers = 0;  // the smallest measured N
  std::int64_t batch_per_worker = 0;
  std::int64_t accumulation = 1;
  std::string optimizer;       // its class: "AdamW"
  double learning_rate = 0.0;  // at `workers`; 0 also if its measurements have different rates
};

// Returns the training of the workload that predictions use. Empty if there is no measurement. Throws
// SQLite::Exception.
std::optional<RecordedTraining> recorded_training(SQLite::Database&, const std::vector<Configuration>&);

// Returns true for an optimizer that scales the rate of each parameter (Adam, RMSprop, …), false for SGD. Empty for
// other names.
std::optional<bool> is_adaptive(std::string_view optimizer);

}  // namespace ddpprof::metrics
