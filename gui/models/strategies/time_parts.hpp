// Where a step goes, as parts that add up to it and of which none is below 0: a measured step's are what `ddpprof
// predict` prints of it, a simulated step's what its first lane shows.
#pragma once

#include "analysis/fit/predictor.hpp"
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

TimeParts recorded_parts(const fit::Terms&);
TimeParts simulated_parts(const step::StepLanes&);  // hidden_s apart: hidden_s() of the simulation's terms
double hidden_s(const fit::Terms&);

}  // namespace ddpprof::gui
