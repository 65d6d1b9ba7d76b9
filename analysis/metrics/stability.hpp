// Stability of the measured steps: drift, outliers, correlation of neighbours, and causes of a wide median interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/conditions.hpp"
#include "analysis/metrics/measured.hpp"
#include "simulator/stats/outliers.hpp"

namespace ddpprof::metrics {

// Stability of one measurement's measured steps, in order. A step is the mean over its ranks.
struct Stability {
  std::int64_t measurement = 0, repeat = 0;
  std::int64_t steps = 0;
  double median_s = 0;
  double spread = 0;              // 1.4826 MAD / median
  double effective_steps = 0;     // equivalent number of independent steps (stats::median_effective_size)
  double change = 0;              // Theil-Sen slope over the whole measurement / median
  std::optional<double> p_value;  // of the test for drift, over blocks of steps; empty: too few steps
  std::int64_t block = 1;         // steps per block of the test
  std::int64_t outliers = 0;
  stats::Place place = stats::Place::none;
  std::int64_t period = 0;       // steps between outliers, where periodic
  std::int64_t unsettled = 0;    // leading steps that differ from the rest (stats::warmup_end)
  double unsettled_excess = 0;   // their median / the rest's - 1
  double unsettled_p_value = 1;  // of the test that they are slower than the rest (stats::rank_sum)
};

inline constexpr std::size_t minimum_stability_steps = 10;  // measurements with fewer steps are not judged

// Returns one entry per measurement; those with fewer steps are left out.
std::vector<Stability> stabilities(const Configuration&);

// Returns true if the drift is significant (p < 0.01) and exceeds 2 % of the median over the measurement.
bool drifts(const Stability&);

std::string place_text(const Stability&);  // position of the outliers: "every 50 steps"
std::string verdict(const Stability&);     // warming up, level changed, drifts, too few to tell, steady

// Returns drift, warm-up within the measured steps and outliers that need a warning, each once for all repeats.
std::vector<Disturbance> unsteadiness(const Configuration&);

// Returns the causes of a wide median interval, the most important first, each with advice. Never empty.
struct Cause {
  std::string text, advice;
};
std::vector<Cause> causes_of_noise(const Configuration&, const Conditions&);

}  // namespace ddpprof::metrics
