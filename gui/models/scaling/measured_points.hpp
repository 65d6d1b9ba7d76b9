// The measured points of the scaling plot: the figures of the reports' tables of steps and times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::gui::whatif {

struct MeasuredPoint {
  std::string strategy;
  std::int64_t workers = 1, batch_per_worker = 0, accumulation = 1;
  stats::Interval step_s;                     // median and its 95 % interval
  double throughput = 0.0;                    // samples/s
  std::optional<double> speedup, efficiency;  // relative to this strategy's N = 1; empty if N = 1 was not measured
  double compute_s = 0.0, overlapped_s = 0.0;
  double exposed_s = 0.0;       // includes waiting for slower ranks, as in the reports
  double host_s = 0.0;          // the device waits for the host's launches; 0 on a CPU
  double exposed_wait_s = 0.0;  // of exposed_s: waiting for slower ranks
  double data_wait_s = 0.0, host_to_device_s = 0.0, copy_s = 0.0;
};

// The parts of a step without overlap between them: they add up to the step.
struct StepParts {
  double compute_s = 0.0;     // compute while no communication runs
  double overlapped_s = 0.0;  // compute while communication runs
  double exposed_s = 0.0;     // communication not hidden by compute; for DataParallel the copies
  double skew_s = 0.0, host_s = 0.0, input_s = 0.0, other_s = 0.0;
};
// Each part is a median of its own. If the parts add up to more than the median step, other_s is 0.
StepParts parts(const MeasuredPoint&);

// Returns the points of one strategy, ascending by N. Uses the batch that was measured at most worker counts, as the
// reports' knee table does.
std::vector<MeasuredPoint> measured_points(const std::vector<metrics::Configuration>&, const std::string& strategy);

}  // namespace ddpprof::gui::whatif
