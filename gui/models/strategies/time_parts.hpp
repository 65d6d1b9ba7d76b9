// Where a step goes, as parts that add up to it and of which none is below 0.
//
// Medians do not add up: where copies are long in those steps in which compute is short, the medians of both together
// may exceed the median step, and what is left for input is negative. A measured step's parts are therefore shares:
// each step's own parts, which do not overlap, as shares of that step; their means over the steps, times the median
// step. A simulated step's parts are what its first lane shows.
#pragma once

#include <optional>

#include "analysis/report/measured.hpp"
#include "simulator/step/lanes.hpp"

namespace ddpprof::gui {

struct TimeParts {
  double compute_s = 0.0;
  double exposed_s = 0.0;  // communication that no compute hides, without waiting; DataParallel's copies
  double skew_s = 0.0;     // waiting for slower ranks
  double other_s = 0.0;    // input, buffers, gaps
  double not_modelled_s = 0.0;
  double hidden_s = 0.0;  // communication beside compute: no part of the sum

  double step_s() const { return compute_s + exposed_s + skew_s + other_s + not_modelled_s; }
};

// Of one measured step. Without recorded intervals (compute_s = 0) compute is the passes and the optimizer; copies that
// lie inside of the passes count as copies alone.
TimeParts parts_of(const report::RunStep&, const report::Configuration&);

// None where no step was measured, or what DDP's ranks had in flight was not recorded.
std::optional<TimeParts> measured_parts(const report::Configuration&, double step_s);
TimeParts simulated_parts(const step::StepLanes&);

}  // namespace ddpprof::gui
