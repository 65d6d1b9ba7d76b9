// Short names of kernels.
#pragma once

#include <string>

namespace ddpprof::metrics {

// Returns the function name without template and function arguments: "at::native::reduce_kernel".
std::string short_kernel_name(const std::string& recorded);

}  // namespace ddpprof::metrics
