// Kernels' names for people: the tables keep them as CUPTI gives them, mangled.
#pragma once

#include <string>

namespace ddpprof::store {

// Demangled where it is mangled (Itanium C++ ABI); else as it is.
std::string demangled_kernel(const std::string& name);

}  // namespace ddpprof::store
