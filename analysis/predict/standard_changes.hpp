// The usual changes of a job, ranked by how much each would raise the throughput.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/predict/change_effect.hpp"

namespace ddpprof::fit {

class MeasuredJob;

struct RankedChange {
  std::string change;    // "accumulation=4", as for ddpprof predict --what-if; "sharing=dedicated"
  bool setting = false;  // a setting of the job; false: other hardware
  WhatIfRow effect;      // of ranked_changes: without the bounds
};

// Returns the changes that can be applied at this N, the largest gain first. `dedicated`: the same job with own cores
// for every rank, or nullptr if that would not change the job. Ends early with the changes so far once `stop` returns true.
std::vector<RankedChange> ranked_changes(const Predictor&, const Predictor* dedicated, std::int64_t workers,
                                         const std::function<bool()>& stop = {});

// The largest gain first; equal gains keep their order.
void sort_by_gain(std::vector<RankedChange>&);

// Returns what a usual change requires: "faster links", "a larger global batch". Empty for other changes.
std::string_view change_requires(std::string_view change);

// Returns true if ranks of the job would wait for cores at this N, so that cores of their own are a change.
bool shares_cores(const MeasuredJob&, std::int64_t workers);

}  // namespace ddpprof::fit
