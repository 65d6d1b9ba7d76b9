// Readable names of kernels. The tables store the mangled names that CUPTI reports.
#pragma once

#include <string>

namespace ddpprof::store {

// Returns the demangled name (Itanium C++ ABI), or the name itself if it is not mangled.
std::string demangled_kernel(const std::string& name);

}  // namespace ddpprof::store
