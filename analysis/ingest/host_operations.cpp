#include "analysis/ingest/host_operations.hpp"

namespace ddpprof::ingest {

bool is_backward_function(std::string_view operation) {
  while (!operation.empty() && operation.back() >= '0' && operation.back() <= '9') operation.remove_suffix(1);
  return operation.ends_with("Backward") && operation.find(':') == std::string_view::npos;
}

bool computes(std::string_view operation) {
  if (is_backward_function(operation) || operation == "CompiledFunction") return true;
  if (operation.find("::") == std::string_view::npos) return false;
  for (const std::string_view other : {"autograd::engine::", "torch::autograd::AccumulateGrad", "c10d::", "_c10d_",
                                       "c10d_functional::", "torch::jit::"})
    if (operation.starts_with(other)) return false;
  return true;
}

}  // namespace ddpprof::ingest
