// Each micro-batch's backward, from autograd's functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

struct HostStep;

// An operation of a layer's forward ("aten::linear"); within one of autograd's functions it is recomputed there.
bool is_forward_operation(std::string_view name);

// In order; of moments that lie in a step alone. Between two backwards lies a forward: DistributedDataParallel's, where
// that was annotated, else an operation of a layer after the last of autograd's functions has ended. The latter counts
// only if as many gradients were added up before it as after, so that an operation beside a backward (a compressing
// hook's) does not divide it, or where none was recorded at all. `forwards` in order and not nested, the rank's
// gradients in order of time, its sorters finished.
std::vector<Span> find_backwards(const RankTrace&, const std::vector<Span>& forwards,
                                 const std::vector<HostStep>& steps);

}  // namespace ddpprof::import
