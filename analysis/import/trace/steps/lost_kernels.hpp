// Leaves out the steps of which the profiler lost kernels: a step without some of its kernels looks shorter, or idle.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

struct CutSteps {
  std::int64_t without_work = 0;  // steps that were not placed, because all of their kernels are missing
  bool all = false;               // no step is whole, so all of them stay
  std::vector<Note> notes;        // empty: no kernel of a step is missing
};

// `placed` and `facts` are the steps on the device, one fact per step. Removes the steps with launches whose kernel was
// not recorded, and the steps after them, whose start is unknown, if other steps remain.
CutSteps leave_out_cut_steps(const SliceStore&, const std::vector<HostStep>& steps,
                             std::vector<const HostStep*>& placed, std::vector<ingest::StepFact>& facts);

}  // namespace ddpprof::import
