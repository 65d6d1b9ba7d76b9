// The gradient noise scale of each measurement, from the squared norms that its steps recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/learning_rate/noise_band.hpp"

namespace SQLite {
class Database;
}
namespace ddpprof::store {
class Database;
}

namespace ddpprof::metrics {

// The noise of one measurement, over its steps in which every rank recorded norms: measured steps
// (measure.gradient_noise_every), or steps of a recorded job before its measured ones (--noise-scale).
// With two or more ranks the ranks' own gradients are compared with the averaged gradient; with one rank the first
// micro-batch is compared with the whole step.
struct MeasuredNoise {
  std::int64_t measurement = 0, workers = 1, repeat = 0;
  std::string model;
  std::int64_t samples_per_part = 0, parts = 0;  // samples of the small batch; number of small batches per step
  std::int64_t data_samples = 0;                 // samples per epoch over all ranks; 0: not recorded
  std::vector<learning_rate::NoiseSample> steps;
  std::int64_t incomplete = 0;                   // steps in which norms of a rank are missing or not finite
  std::optional<learning_rate::NoiseBand> band;  // over all `steps`; empty if there are too few
  std::optional<double> moving_samples;          // moving average at the last step, over about 100 steps
  std::optional<double> cost_share;              // cost of the norms / time of all measured steps
};

inline constexpr const char* measure_noise_command =
    "ddpprof run SCENARIO.yaml --set measure.gradient_noise_every=5, or in a Python job: ddpprof record --noise-scale "
    "200";
inline constexpr double noise_confidence = 0.9;  // of `band`
// From this number of steps on, the coverage of a band is about nominal if neighbouring steps are weakly correlated;
// noise_band.hpp lists the coverage in other cases.
inline constexpr std::size_t steps_for_nominal_coverage = 200;
inline constexpr double noise_keep = 0.99;  // weight of earlier steps in `moving_samples`

// Returns the measurements with norms, by id. The first throws store::DatabaseError, the second SQLite::Exception.
std::vector<MeasuredNoise> measured_noise(store::Database&);
std::vector<MeasuredNoise> measured_noise(SQLite::Database&);

// Returns the band to use for the base batch: that of the training whose global batch is nearest to the base batch (by
// ratio), because the noise scale of the base batch's training is needed. Ties: more compared gradients per step, then
// the first repeat. Trainings whose gradient is not distinguishable from 0 have no middle and are skipped; this biases
// the result towards smaller values. The narrowest band is not preferred: the narrowest of several 90 % intervals
// contains the true value much less often than in 90 % of cases.
std::optional<learning_rate::NoiseBand> concluding_band(std::span<const MeasuredNoise>, std::int64_t base_batch);

}  // namespace ddpprof::metrics
