// Kernels by names that people read.
#pragma once

#include <string>

namespace ddpprof::metrics {

// The function's name without its template's and its own arguments: "at::native::reduce_kernel".
std::string short_kernel_name(const std::string& recorded);

}  // namespace ddpprof::metrics
