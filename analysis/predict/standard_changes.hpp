// The usual changes of a job, ranked by how much each would raise the throughput.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/predict/change_effect.hpp"

namespace ddpprof::fit {

struct RankedChange {
  std::string change;    // "accumulation=4", as for ddpprof predict --what-if; "sharing=dedicated"
  bool setting = false;  // a setting of the job; false: other hardware
  WhatIfRow effect;      // without the bounds
};

// Returns the changes that can be applied at this N, the largest gain first. `dedicated`: the same job with own cores
// for every rank, or nullptr if that would not change the job.
std::vector<RankedChange> ranked_changes(const Predictor&, const Predictor* dedicated, std::int64_t workers);

}  // namespace ddpprof::fit
