#include "analysis/import/trace/collectives/kernel_families.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace ddpprof::import {
namespace {

struct KernelFamily {
  std::string_view part;  // of the kernel's name
  CollectiveOp op;        // if the name has no word of an operation
};

constexpr std::array kernel_families{
    KernelFamily{"nccl", CollectiveOp::other},                     // ncclKernel_*, ncclDevKernel_*, ncclFunction_*
    KernelFamily{"Nccl", CollectiveOp::other},                     //
    KernelFamily{"NCCL", CollectiveOp::other},                     //
    KernelFamily{"rccl", CollectiveOp::other},                     // AMD; most RCCL kernels have NCCL's names
    KernelFamily{"mscclKernel", CollectiveOp::other},              // Microsoft's MSCCL, inside of NCCL and RCCL
    KernelFamily{"mscclpp", CollectiveOp::other},                  // MSCCL++
    KernelFamily{"oneccl", CollectiveOp::other},                   // Intel
    KernelFamily{"oneCCL", CollectiveOp::other},                   //
    KernelFamily{"hcom_", CollectiveOp::other},                    // Huawei: hcom_allReduce__123_1_1
    KernelFamily{"hccl", CollectiveOp::other},                     //
    KernelFamily{"Hccl", CollectiveOp::other},                     //
    KernelFamily{"deep_ep::", CollectiveOp::all_to_all},           // DeepEP: dispatch and combine of experts
    KernelFamily{"::ep::internode", CollectiveOp::all_to_all},     // the same in another namespace: dpsk::ep::internode
    KernelFamily{"::ep::intranode", CollectiveOp::all_to_all},     //
    KernelFamily{"nvshmem", CollectiveOp::other},                  // NVSHMEM
    KernelFamily{"symmetric_memory", CollectiveOp::other},         // torch's symmetric memory
    KernelFamily{"multimem_all_", CollectiveOp::other},            // multimem_all_reduce_kernel
    KernelFamily{"multimem_one_shot_", CollectiveOp::all_reduce},  //
    KernelFamily{"one_shot_all_reduce", CollectiveOp::all_reduce},
    KernelFamily{"two_shot_all_reduce", CollectiveOp::all_reduce},
    KernelFamily{"oneShotAllReduce", CollectiveOp::all_reduce},      // torch's intra-node all-reduce
    KernelFamily{"twoShotAllReduce", CollectiveOp::all_reduce},      //
    KernelFamily{"cross_device_reduce_", CollectiveOp::all_reduce},  // vLLM's all-reduce inside a host
};

// Kernels of communication libraries that compute and send nothing.
constexpr std::array<std::string_view, 1> local_kernels{"deep_ep::layout::"};

const KernelFamily* family_of(std::string_view kernel_name) {
  const auto found = std::find_if(kernel_families.begin(), kernel_families.end(), [&](const KernelFamily& family) {
    return kernel_name.find(family.part) != std::string_view::npos;
  });
  if (found == kernel_families.end()) return nullptr;
  for (const std::string_view local : local_kernels)
    if (kernel_name.find(local) != std::string_view::npos) return nullptr;
  return &*found;
}

// Returns true if the kernel's own name, without the arguments of its template, contains the name of a collective of
// several ranks: flashinfer::trtllm_allreduce_fusion::…, quickreduce::allreduce_prototype_twoshot<…>. A reduction of
// all threads of a warp or a block stays on one device.
bool is_named_as_collective(std::string_view kernel_name) {
  std::string letters;
  for (const char c : kernel_name.substr(0, kernel_name.find_first_of("<(")))
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word : {"allreduce", "allgather", "reducescatter", "alltoall"}) {
    const std::size_t at = letters.find(word);
    if (at == std::string::npos) continue;
    const std::string_view before = std::string_view(letters).substr(0, at);
    return !before.ends_with("warp") && !before.ends_with("block") && !before.ends_with("thread") &&
           !before.ends_with("cta");
  }
  return false;
}

struct Backend {
  std::string_view name;
  BackendKind kind;
};

constexpr std::array backends{
    Backend{"gloo", BackendKind::host},     Backend{"ucc", BackendKind::host},    Backend{"mpi", BackendKind::host},
    Backend{"nccl", BackendKind::device},   Backend{"rccl", BackendKind::device}, Backend{"xccl", BackendKind::device},
    Backend{"hccl", BackendKind::device},   Backend{"mccl", BackendKind::device}, Backend{"cncl", BackendKind::device},
    Backend{"oneccl", BackendKind::device},
};

}  // namespace

bool is_collective_kernel(std::string_view kernel_name) {
  return family_of(kernel_name) != nullptr || is_named_as_collective(kernel_name);
}

CollectiveOp collective_op_of_kernel(std::string_view kernel_name) {
  const CollectiveOp named = collective_op(kernel_name);
  if (named != CollectiveOp::other) return named;
  const KernelFamily* family = family_of(kernel_name);
  return family ? family->op : CollectiveOp::other;
}

BackendKind annotated_backend(std::string_view annotation) {
  const std::size_t colon = annotation.find(':');
  if (colon == std::string_view::npos || annotation.substr(colon).starts_with("::")) return BackendKind::none;
  const auto found = std::find_if(backends.begin(), backends.end(),
                                  [&](const Backend& one) { return one.name == annotation.substr(0, colon); });
  return found == backends.end() ? BackendKind::none : found->kind;
}

bool is_device_backend(std::string_view backend) {
  return std::any_of(backends.begin(), backends.end(), [&](const Backend& one) {
    return one.kind == BackendKind::device && backend.find(one.name) != std::string_view::npos;
  });
}

}  // namespace ddpprof::import
