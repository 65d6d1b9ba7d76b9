#pragma once

#include <vector>

#include "analysis/fit/models.hpp"
#include "simulator/step/host_pace.hpp"

namespace ddpprof::fit {

// One set of values for all fitted parameters of the step model: the best fit, or one Monte Carlo draw. The pointers
// point into the job's models.
struct StepParameters {
  const FormFit* form = nullptr;  // nullptr if the all-reduce is not fitted (only N = 1 was measured)
  std::vector<double> link, compute, copies;
  double straggler = 1.0;                      // factor on the expected lateness of the slowest rank
  double profile = 0.0;                        // standard normal: error of the measured compute time
  double batch = 0.0;                          // standard normal: error of how compute grows with the batch
  const BatchLaw* batch_law = nullptr;         // nullptr: the picked law, or none if none was fitted
  double batch_own = 0.0;                      // the law's own parameter
  double host_power = step::usual_host_power;  // steps do not show it
  // The time outside of every phase may be loading of samples (it grows with them) or logging (it does not): the share
  // that grows is unknown, 0 to 1.
  double gap_growth = 0.5;
};

}  // namespace ddpprof::fit
