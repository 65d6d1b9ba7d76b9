// The gradient's noise scale of each measurement, from the squared norms that its steps recorded.
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

// Of one measurement's measured steps in which every rank took the norms (measure.gradient_noise_every). Two ranks or
// more: their own gradients against the averaged one; one rank: its first micro-batch against the whole step's.
struct MeasuredNoise {
  std::int64_t measurement = 0, workers = 1, repeat = 0;
  std::string model;
  std::int64_t samples_per_part = 0, parts = 0;  // of the smaller batch; how many of them make a step's
  std::int64_t data_samples = 0;                 // of an epoch, over all ranks; 0: not recorded
  std::vector<learning_rate::NoiseSample> steps;
  std::int64_t incomplete = 0;                   // steps of which a rank's norms are missing, or are none
  std::optional<learning_rate::NoiseBand> band;  // of all of `steps`; nothing where they are too few
  std::optional<double> moving_samples;          // the moving average at the last step, of about 100 steps
  std::optional<double> cost_share;              // of the time of all measured steps, that taking the norms cost
};

inline constexpr const char* measure_noise_command = "ddpprof run SCENARIO.yaml --set measure.gradient_noise_every=5";
inline constexpr double noise_confidence = 0.9;  // of `band`
// From which on a band holds the truth about as often as that, where neighbours resemble each other little;
// noise_band.hpp has how often otherwise.
inline constexpr std::size_t steps_for_nominal_coverage = 200;
inline constexpr double noise_keep = 0.99;  // weight of what was before in `moving_samples`

// Measurements that recorded norms, in the order of their ids. The first throws store::DatabaseError, the second
// SQLite::Exception.
std::vector<MeasuredNoise> measured_noise(store::Database&);
std::vector<MeasuredNoise> measured_noise(SQLite::Database&);

// What to conclude from: of the trainings with a band that has a middle, the one whose global batch is nearest to the
// base batch (by their ratio), since it is the base batch's training that the noise scale is wanted of; of two as near
// the one whose steps compared more gradients; of repeats, which train the same, the first. What came out decides in
// one case alone: a training whose gradient cannot be told from 0 has no middle, and passing it over leans the answer
// down. Not the narrowest: of several 90 % intervals that one holds the truth much less often than they say.
std::optional<learning_rate::NoiseBand> concluding_band(std::span<const MeasuredNoise>, std::int64_t base_batch);

}  // namespace ddpprof::metrics
