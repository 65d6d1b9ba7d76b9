// Facts of imported measurements from which the learning rate at another N follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "simulator/learning_rate/schedule.hpp"

namespace ddpprof::metrics {

// Numbers are 0 and texts are empty if they are unknown.
struct RecordedTraining {
  std::int64_t workers = 0;  // the smallest measured N
  std::int64_t batch_per_worker = 0;
  std::int64_t accumulation = 1;
  std::string optimizer;       // its class: "AdamW"
  double learning_rate = 0.0;  // at `workers`; 0 also if its measurements have different rates
  std::string no_rate{};       // why it has no learning rate at another N; empty: it has one
  std::optional<std::pair<double, double>> betas{};  // of Adam
};

// Returns the training of the workload that predictions use. Empty if there is no measurement. Throws
// SQLite::Exception.
std::optional<RecordedTraining> recorded_training(SQLite::Database&, const std::vector<Configuration>&);

// Optimizers by the rule for their learning rate at another batch.
enum class OptimizerFamily {
  unknown,    // no name, or one that does not show the rule, such as that of a wrapper
  uncovered,  // no published rule: LBFGS, Rprop, Muon, Shampoo, Adafactor, Adadelta, Lion, Sophia, averaged SGD
  sgd,
  lars,
  adam,     // averages of gradients (β₁) and of their squares (β₂)
  rmsprop,  // an average of squares
  adagrad,  // a sum of squares
  lamb,
};

// Returns the family by the name of the optimizer's class: "AdamW", "FusedAdam", "sgd". "adaptive" is adam.
OptimizerFamily family_of(std::string_view optimizer);

// Returns the settings at the base batch that the square-root rule scales. A beta of 0: without this average.
learning_rate::AdamSettings usual_settings(OptimizerFamily);

// Returns true for an optimizer that scales the rate of each parameter (Adam, RMSprop, …), false for SGD. Empty for
// other names.
std::optional<bool> is_adaptive(std::string_view optimizer);

}  // namespace ddpprof::metrics
