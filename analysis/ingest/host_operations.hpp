// Which operations of the host, as PyTorch's profiler names them, compute.
#pragma once

#include <string_view>

namespace ddpprof::ingest {

// Returns true for autograd's functions of the backward: "AddmmBackward0".
bool is_backward_function(std::string_view operation);

// Returns true for operations that compute. Operations around others do not count: hooks that wait for a collective run
// inside of AccumulateGrad and of evaluate_function. Kernels of a compiled graph are not recorded: its function counts.
bool computes(std::string_view operation);

}  // namespace ddpprof::ingest
