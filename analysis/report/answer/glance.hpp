// The steps of a file at one glance: each measured and predicted N once. All numbers are cells of the tables of the
// full report: step, predictions and dedicated_predictions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

inline constexpr double widest_headline = 3.0;  // high / low above which the middle of an interval is not named

struct GlanceStep {
  std::string strategy;
  std::int64_t workers = 1;  // 0: unknown
  bool measured = false;
  std::int64_t steps = 0;   // measured
  bool range = false;       // low and high are the smallest and the largest of few steps
  double confidence = 0.0;  // of low to high
  double step_s = 0.0, low_s = 0.0, high_s = 0.0;
  std::optional<double> throughput, efficiency;  // samples/s; weak, or strong if the global batch is kept
  bool strong = false;                           // the efficiency of a prediction is the strong one
  std::optional<double> speedup;                 // of the measured throughput over that of N = 1
  // Shares of the step, as in the table of predictions. Empty if this N has no prediction on the measured machine.
  std::optional<double> compute, transfer, skew, host;
  std::optional<double> input;  // share of waits for input data and of copies of it; measured
  std::optional<double> other;  // share of all other parts, input included; as compute
  // Exposed communication by the table of measured steps, if N is not 1; waiting for slower ranks included.
  std::optional<double> exposed;
  std::string bound;
  bool own_cores = false;  // predicted for ranks with own cores, because sharing is not modelled
  std::optional<double> dedicated_s, dedicated_low_s, dedicated_high_s;  // with own cores for every rank
  std::string dedicated_bound;

  bool wide() const;  // the interval spans more than a factor of 3
};

// By strategy, then N. Measured N of the batch that was measured at most worker counts.
std::vector<GlanceStep> glance_steps(const Source&);

// A strategy and an N.
using GlancePlace = std::pair<std::string, std::int64_t>;

// The rows as a table. Of more than `most` rows, those between the smallest and the largest N of a strategy are thinned
// out, at first those that are not in `kept`.
Table glance_table(const std::vector<GlanceStep>&, std::size_t most, const std::set<GlancePlace>& kept);

}  // namespace ddpprof::report
