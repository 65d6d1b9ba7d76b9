// Reports kernels of the steps that the host launched and the profiler did not record.
#pragma once

#include <optional>
#include <vector>

#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// The warning that a step has no recorded kernel, or that at least 1 % of the steps' kernels are missing; none if fewer
// are missing. Without them the steps look shorter, or idle.
std::optional<Note> note_on_lost_kernels(const SliceStore&, const std::vector<HostStep>&);

}  // namespace ddpprof::import
