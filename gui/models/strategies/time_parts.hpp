// The parts of a step. They add up to the step and none is below 0. For a measured step they are what `ddpprof predict`
// prints; for a simulated step they are the segments of its first lane.
#pragma once

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "simulator/step/lanes.hpp"

namespace ddpprof::gui {

struct TimeParts {
  double compute_s = 0.0;
  double exposed_s = 0.0;  // communication not hidden by compute, without waiting; for DataParallel the copies
  double skew_s = 0.0;     // waiting for slower ranks
  double host_s = 0.0;     // the device waits for the host's launches
  double other_s = 0.0;    // input, buffers, gaps
  double not_modelled_s = 0.0;
  double hidden_s = 0.0;  // communication during compute; not part of the sum

  double step_s() const { return compute_s + exposed_s + skew_s + host_s + other_s + not_modelled_s; }
};

TimeParts recorded_parts(const fit::Terms&);
TimeParts simulated_parts(
    const step::StepLanes&);  // without hidden_s: call hidden_s() with the terms of the simulation
double hidden_s(const fit::Terms&);

}  // namespace ddpprof::gui
