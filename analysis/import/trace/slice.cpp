#include "analysis/import/trace/slice.hpp"

namespace ddpprof::import {

bool is_collective_kernel(std::string_view kernel_name) {
  // RCCL uses NCCL's names; Microsoft's MSCCL runs inside both.
  for (const std::string_view part : {"nccl", "Nccl", "NCCL", "rccl", "mscclKernel"})
    if (kernel_name.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace ddpprof::import
