// Measured scaling: one point per strategy and N.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "simulator/scaling/knee.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::metrics {

// Returns one curve per strategy: the batch that was measured at most worker counts. Ties go to the batch that was
// measured first, as in the fits.
std::vector<const Configuration*> scaling_configurations(const std::vector<Configuration>&);

struct MeasuredScaling {
  std::string strategy;
  scaling::ScalingPoint point;
};

// Returns the points of scaling_configurations.
std::vector<MeasuredScaling> measured_scaling(const std::vector<Configuration>&);

// Returns true if predictions are for the measured machine. For another machine (for example one with more cores) the
// prediction at a measured N differs from the measurement, and measured points do not belong on that curve.
bool of_measured_machine(const MeasuredScaling&, std::span<const store::PredictionRow>);

}  // namespace ddpprof::metrics
