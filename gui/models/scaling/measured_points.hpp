// What was measured, as the scaling plot shows it: the figures of the reports' step and time tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/measured.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::gui::whatif {

struct MeasuredPoint {
  std::string strategy;
  std::int64_t workers = 1, batch_per_worker = 0, accumulation = 1;
  stats::Interval step_s;                     // median and its 95 % interval
  double throughput = 0.0;                    // samples/s
  std::optional<double> speedup, efficiency;  // against this strategy's own N = 1, where it was measured
  double compute_s = 0.0, overlapped_s = 0.0;
  double exposed_s = 0.0;  // waiting for slower ranks included, as in the reports
  double skew_s = 0.0, data_wait_s = 0.0, host_to_device_s = 0.0, copy_s = 0.0;
};

// A step's time with nothing counted twice: the parts add up to the step.
struct StepParts {
  double compute_s = 0.0;     // while nothing is in flight
  double overlapped_s = 0.0;  // while something is
  double exposed_s = 0.0;     // communication that no compute hides; copies of DataParallel
  double skew_s = 0.0, input_s = 0.0, other_s = 0.0;
};
// Each part is its own median: where they add up to more than the median step there is no other part.
StepParts parts(const MeasuredPoint&);

// Of one strategy, by N: the batch that was measured at most worker counts, as in the reports' knee table.
std::vector<MeasuredPoint> measured_points(const std::vector<report::Configuration>&, const std::string& strategy);

}  // namespace ddpprof::gui::whatif
