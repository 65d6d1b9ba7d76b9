// How forward and backward grow with the batch, fitted where several batches were measured.
//
// Two laws compete: a line, t(b) = fixed + sample b (as Pollux has it, OSDI'21: launching kernels and reading weights
// takes its time whatever the batch), and what is assumed without a second batch: t(b) in proportion to b to the power
// of 1 ± 0.1, its exponent fitted. Each N has a level of its own, as ranks may share cores (workloads.hpp). AICc
// judges: how far a law is from the measurements, robustly, and from what is known beforehand (a fixed share of
// 0.2 ± 0.4 half-way between the smallest batch and the largest), in standard errors; both have as many parameters, so
// that its terms for their number cancel. Two batches both laws meet: there what is known beforehand decides. Both
// count in the intervals, by AICc. Outside of the measured batches either may bend: by 0.1 of the logarithm of how far.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/measured/measured.hpp"

namespace ddpprof::fit {

// Standard deviation of the batch's exponent if one batch was measured, and of the bend beyond several measured
// batches.
inline constexpr double batch_exponent_sd = 0.1;

struct BatchLaw {
  bool line = false;    // else a power near 1
  double middle = 1.0;  // batch: geometric mean of the smallest and the largest fitted
  double weight = 0.0;  // share of the draws
  // First the law's own parameter: fixed_share (of the time at `middle`) or batch_exponent. Then the time at `middle`
  // of each level.
  Problem problem;
  Solution solution;
  double excess_aicc = 0.0;  // over that of the picked law

  // Time of a batch over that of `middle`; above 0, and never less for a larger batch.
  double growth(double batch, double own) const;
};

// Parameters of a law in a row of the table fit: `compute_fixed` and `compute_sample` (s), of the smallest N with two
// batches, or `batch_exponent`.
struct BatchParameters {
  std::vector<std::string> names, units;
  std::vector<double> values;
  std::vector<double> covariance;  // row by row
};

struct BatchFit {
  bool usable = false;
  std::string status;                 // the law and the reason for it, or why no law is usable; empty with one batch
  std::vector<BatchPoint> points;     // of levels with two batches and more
  std::vector<std::int64_t> batches;  // ascending
  std::vector<BatchLaw> laws;         // the picked one first

  // Returns true if several batches were measured but contradict each other.
  bool refused() const { return !usable && !status.empty(); }
  // Time of one batch over that of another, by the picked law.
  double ratio(double from, double to) const;
  // How far outside of the measured batches, as a logarithm; 0 between them.
  double beyond(double batch) const;
  BatchParameters parameters() const;  // of the picked law; none where the fit is not usable
};

// `points`: the points of a level differ in the batch alone. The fit is refused (not usable, with a reason in the
// status) if a larger batch took less time, or more than the square, by more than the noise explains, and if every law
// differs from a point by more than a third.
BatchFit fit_batches(std::vector<BatchPoint> points);

}  // namespace ddpprof::fit
