// The gradient's noise scale of each measurement, from the squared norms that its steps recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"
#include "simulator/learning_rate/noise_band.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::report {

// Of one measurement's measured steps in which every rank took the norms (measure.gradient_noise_every). Two ranks or
// more: their own gradients against the averaged one; one rank: its first micro-batch against the whole step's.
struct MeasuredNoise {
  std::int64_t measurement = 0, workers = 1, repeat = 0;
  std::string model;
  std::int64_t samples_per_part = 0, parts = 0;  // of the smaller batch; how many of them make a step's
  std::vector<learning_rate::NoiseSample> steps;
  std::int64_t incomplete = 0;                   // steps of which a rank's norms are missing, or are none
  std::optional<learning_rate::NoiseBand> band;  // of all of `steps`; nothing where they are too few
  std::optional<double> moving_samples;          // the moving average at the last step, of about 100 steps
  std::optional<double> cost_share;              // of the time of all measured steps, that taking the norms cost
};

inline constexpr const char* measure_noise_command = "ddpprof run SCENARIO.yaml --set measure.gradient_noise_every=5";
inline constexpr double noise_confidence = 0.9;  // of `band`
inline constexpr double noise_keep = 0.99;       // weight of what was before in `moving_samples`

// Measurements that recorded norms, in the order of their ids. The first throws store::DatabaseError, the second
// SQLite::Exception.
std::vector<MeasuredNoise> measured_noise(store::Database&);
std::vector<MeasuredNoise> measured_noise(SQLite::Database&);

// The one to conclude from: the narrowest band with a middle and an upper end, by the ratio of its ends; else the one
// with the largest lower end. Null where there is no band with a middle.
const MeasuredNoise* narrowest(std::span<const MeasuredNoise>);

Table gradient_noise_table(std::span<const MeasuredNoise>);

}  // namespace ddpprof::report
