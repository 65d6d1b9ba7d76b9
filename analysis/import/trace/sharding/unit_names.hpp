// Numbers the units of FSDP1, whose annotations do not name them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

// Units of FSDP1 have numbers from this one on instead of numbers of names.
inline constexpr std::uint32_t first_nameless_unit = 1U << 31;

// Returns the unit's name: "unit 1" for the first unit of FSDP1 after the root.
std::string unit_name(const Names&, std::uint32_t unit);

// Sets the units of FSDP1's annotations in the steps. The first forward of a pass is the root's, the others are
// numbered in order. Their backwards begin with the root and then run from the last forward to the first; gradients are
// reduced from the last forward to the first, the root at the end. A forward inside of autograd's backward is a
// recomputation of the unit whose backward comes next. A prefetch belongs to the unit that follows in this
// order. `marks` must be ordered by start, outer marks first.
void number_nameless_units(std::vector<ShardingMark>& marks, const std::vector<const HostStep*>& steps);

}  // namespace ddpprof::import
