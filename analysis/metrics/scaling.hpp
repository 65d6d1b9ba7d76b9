// Measured scaling: one point a strategy and N.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "simulator/scaling/efficiency.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::store {
class Database;
}

namespace ddpprof::metrics {

// One curve a strategy: of the batch that was measured at most worker counts, the larger one when two were.
std::vector<const Configuration*> scaling_configurations(const std::vector<Configuration>&);

struct MeasuredScaling {
  std::string strategy;
  scaling::ScalingPoint point;
};

// What the database measured, as knee_table takes it. Throws store::DatabaseError.
std::vector<MeasuredScaling> measured_scaling(store::Database&);
std::vector<MeasuredScaling> measured_scaling(const std::vector<Configuration>&);  // of scaling_configurations

// Whether predictions are for the machine that was measured: on another, with cores of its own say, the row at a
// measured N is not what was measured there, and measured points do not belong on that curve.
bool of_measured_machine(const MeasuredScaling&, std::span<const store::PredictionRow>);

}  // namespace ddpprof::metrics
