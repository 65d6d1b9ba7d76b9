// Which operations of the host, as PyTorch's profiler names them, compute.
#pragma once

#include <string_view>

namespace ddpprof::ingest {

// Returns true for autograd's functions of the backward: "AddmmBackward0".
bool is_backward_function(std::string_view operation);

// Returns true for functions written in Python or compiled from it: one may call a collective and wait for it, and only
// the operations inside of it compute then.
bool may_call_collectives(std::string_view operation);

// Returns true for operations that compute. Operations around others do not count: hooks that wait for a collective run
// inside of AccumulateGrad and of evaluate_function. Kernels of a compiled graph are not recorded: its function counts.
bool computes(std::string_view operation);

}  // namespace ddpprof::ingest
