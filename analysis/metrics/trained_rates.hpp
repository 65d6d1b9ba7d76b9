// The learning rate of each measurement by step, compared with the rate that its scenario planned.
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
  std::int64_t steps = 0;   // steps with a recorded rate, without those without the DDP wrapper
  std::int64_t unlike = 0;  // steps in which a rank's rate is not exactly the planned rate
  std::int64_t unchecked = 0;  // steps whose plan is unknown (AdaScale: from a missing norm on)
  double first_lr = 0.0, last_lr = 0.0;
  std::optional<double> last_planned_lr;
  std::optional<double> base_steps;  // AdaScale: number of steps at the base batch that all steps replace
  double largest_difference = 0.0;   // of |rate − planned rate| / planned rate
};

// One step of a measurement, as recorded by its ranks.
struct RecordedStep {
  std::int64_t measurement = 0, workers = 1;
  std::int64_t number = 0;   // within the measurement, from 0
  std::int64_t step = 0;     // within the training; a resumed training continues its schedule
  std::int64_t samples = 0;  // of one rank
  std::string_view options;  // the measurement's, JSON
  std::span<const double> local_gradient_sqr;  // of each rank with a rate, by rank; NaN if missing
  double gradient_sqr = 0.0;                   // of the first rank; NaN if missing
};
struct PlannedStep {
  double rate = 0.0;
  std::optional<double> base_steps;  // AdaScale: including this step
};
// Called for each step of a measurement in order, one measurement after the other. Returns nothing if the plan is
// unknown.
using PlannedRate = std::function<std::optional<PlannedStep>(const RecordedStep&)>;

// Returns one entry per measurement with recorded rates, by id. Throws store::DatabaseError and the exceptions of
// `planned`.
std::vector<TrainedRates> trained_rates(store::Database&, const PlannedRate& planned);

}  // namespace ddpprof::metrics
