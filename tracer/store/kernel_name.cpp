#include "tracer/store/kernel_name.hpp"

#include <cxxabi.h>

#include <cstdlib>

namespace ddpprof::store {

std::string demangled_kernel(const std::string& name) {
  if (!name.starts_with("_Z")) return name;  // otherwise a kernel "i" would become the type int
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return out;
}

}  // namespace ddpprof::store
