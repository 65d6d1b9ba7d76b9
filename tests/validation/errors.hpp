// Errors of predictions at the largest measured size, beside those of two trivial baselines: one row of a table.
#pragma once

#include <string>
#include <vector>

namespace ddpprof::validation {

// Errors are signed and relative: predicted / measured - 1.
struct Errors {
  std::vector<double> own, first_baseline, second_baseline;
  double covered = 0.0, width = 0.0;  // sums over the predictions: 1 for each that its interval covers; ln(high / low)
  int above = 0, below = 0;           // measured values outside of the interval

  // Returns the mean or the median of the errors' sizes. Not in percent.
  static double size(const std::vector<double>& errors, bool mean);
  // Returns the median and the mean of the errors' sizes, in percent: "1.0 / 1.4".
  static std::string text(const std::vector<double>& errors);
  // Prints a row in Markdown. `width_digits`: decimals of the mean width.
  void print(const std::string& name, int width_digits) const;
};

}  // namespace ddpprof::validation
