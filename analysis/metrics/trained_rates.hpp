// The learning rate that each measurement trained with, step by step, beside the one that its scenario planned.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ddpprof::store {
class Database;
}

namespace ddpprof::metrics {

struct TrainedRates {
  std::string strategy;
  std::int64_t workers = 1, repeat = 0;
  std::int64_t first_step =
      0;                    // of the training: where a resumed one stands in its schedule, of AdaScale its steps so far
  std::int64_t steps = 0;   // with a recorded rate; those without the DDP wrapper are no part of the training
  std::int64_t unlike = 0;  // of them, those where a rank's rate is not the planned one, to the bit
  std::int64_t unchecked = 0;  // … and those whose plan is not known: of AdaScale, from a missing norm on
  double first_lr = 0.0, last_lr = 0.0;
  std::optional<double> last_planned_lr;
  std::optional<double> base_steps;  // of AdaScale: steps of the base batch that all steps up to the last were worth
  double largest_difference = 0.0;   // of a rate from the plan, relative to the plan
};

// One step of a measurement as its ranks recorded it.
struct RecordedStep {
  std::int64_t measurement = 0, workers = 1;
  std::int64_t number = 0;   // of the measurement, from 0
  std::int64_t step = 0;     // of the training: where a resumed one stands in its schedule, on from there
  std::int64_t samples = 0;  // of one rank
  std::string_view options;  // the measurement's, JSON
  std::span<const double> local_gradient_sqr;  // of each rank with a rate, in their order; NaN where it has none
  double gradient_sqr = 0.0;                   // the first rank's; NaN where it has none
};
struct PlannedStep {
  double rate = 0.0;
  std::optional<double> base_steps;  // of AdaScale, this step included
};
// Called for each step of a measurement in turn, and for one measurement after the other; nothing where the plan is not
// known.
using PlannedRate = std::function<std::optional<PlannedStep>(const RecordedStep&)>;

// One for each measurement with recorded rates, in the order of their ids. Throws store::DatabaseError and what
// `planned` throws.
std::vector<TrainedRates> trained_rates(store::Database&, const PlannedRate& planned);

}  // namespace ddpprof::metrics
