// A change, or another machine, compared with the job as measured.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/predict/step_model/what_if.hpp"

namespace ddpprof::fit {

class MeasuredJob;
class Predictor;

struct WhatIfRow {
  std::string strategy;
  std::int64_t workers = 1;
  double step_s = 0.0, changed_step_s = 0.0, changed_low_s = 0.0, changed_high_s = 0.0;
  double throughput = 0.0, changed_throughput = 0.0;  // samples/s
  // Speedup of the throughput. Each sample is compared with the same sample without the change.
  double speedup = 1.0, speedup_low = 1.0, speedup_high = 1.0;
  std::string bound, changed_bound;
};

// Compares the step under the change with the step without it. Leaves the bounds empty. Throws std::invalid_argument if
// the change cannot be applied at this N (change_refusal_at), or if no time would be left of the step.
WhatIfRow change_effect(const Predictor&, std::int64_t workers, const WhatIf&);

// Compares the same job on two machines. Both predictors must have the same models and options, except for the machine.
// Throws std::invalid_argument with the refusal of either.
WhatIfRow machine_effect(const Predictor& here, const Predictor& there, std::int64_t workers);

// Returns samples per second at this step time, under a change that may alter the batch.
double throughput(const MeasuredJob&, std::int64_t workers, double step_s, const WhatIf& = {});

}  // namespace ddpprof::fit
