// Finds each micro-batch's backward from autograd's functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

struct HostStep;

// Returns true for an operation of a layer's forward ("aten::linear"). Inside an autograd function such an operation is
// recomputation.
bool is_forward_operation(std::string_view name);

// Returns true for operations of layers in forward or backward: those of is_forward_operation(), and products of
// matrices ("aten::mm").
bool is_matrix_operation(std::string_view name);

// Returns the backwards in order; only times inside a step count. A forward lies between two backwards. It is
// DistributedDataParallel's forward if annotated, otherwise an operation of a layer after the last autograd function
// has ended. Such an operation divides two backwards only if as many gradients were accumulated before it as after it,
// or if no gradient was recorded. This excludes operations beside a backward, for example those of a compression hook.
// Requires: `forwards` ordered and not nested, the rank's gradients ordered by time, its sorters finished.
std::vector<Span> find_backwards(const RankTrace&, const std::vector<Span>& forwards,
                                 const std::vector<HostStep>& steps);

}  // namespace ddpprof::import
