// How steady the measured steps were: drift, outliers, dependence of neighbours, and why a median is known badly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/conditions.hpp"
#include "analysis/metrics/measured.hpp"
#include "simulator/stats/outliers.hpp"

namespace ddpprof::metrics {

// Of one measurement's measured steps, in their order. The run's step: the mean of its ranks'.
struct Stability {
  std::int64_t measurement = 0, repeat = 0;
  std::int64_t steps = 0;
  double median_s = 0;
  double spread = 0;              // 1.4826 MAD / median
  double effective_steps = 0;     // what they are worth for the median (stats::median_effective_size)
  double change = 0;              // Theil-Sen slope over the whole measurement / median
  std::optional<double> p_value;  // of no drift, over blocks of steps; unset: too few to tell
  std::int64_t block = 1;         // steps that the test took together
  std::int64_t outliers = 0;
  stats::Place place = stats::Place::none;
  std::int64_t period = 0;       // steps between outliers, where periodic
  std::int64_t unsettled = 0;    // steps at the front that still differ from the rest (stats::warmup_end)
  double unsettled_excess = 0;   // their median / the rest's - 1
  double unsettled_p_value = 1;  // of their being no slower than the rest (stats::rank_sum)
};

inline constexpr std::size_t minimum_stability_steps = 10;  // below that nothing is said

// Measurements with fewer steps are left out.
std::vector<Stability> stabilities(const Configuration&);

// A drift that is there (p < 0.01) and matters (more than 2 % of the median over the measurement).
bool drifts(const Stability&);

std::string place_text(const Stability&);  // where the outliers are: "every 50 steps"
std::string verdict(const Stability&);     // warming up, level changed, drifts, too few to tell, steady

// Drift, warm-up among the measured steps and outliers worth a warning, each once for all repeats.
std::vector<Disturbance> unsteadiness(const Configuration&);

// Why the median is not known better: causes found, most telling first, each with what to do; never empty.
struct Cause {
  std::string text, advice;
};
std::vector<Cause> causes_of_noise(const Configuration&, const Conditions&);

}  // namespace ddpprof::metrics
