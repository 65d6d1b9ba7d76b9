#include "analysis/import/trace/collectives/kernel_families.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

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

// Returns true if the kernel's own name, without the arguments of its template, has the name of a collective of several
// ranks as words: flashinfer::trtllm_allreduce_fusion::…, quickreduce::allreduce_prototype_twoshot<…>,
// twoShotAllReduce. A reduction of all threads of a warp or a block stays on one device, and small_reduce is another
// word.
bool is_named_as_collective(std::string_view kernel_name) {
  const std::string_view own = kernel_name.substr(0, kernel_name.find_first_of("<("));
  constexpr std::array<std::string_view, 5> parts{"educe", "ather", "toall", "ToAll", "to_all"};  // most have none
  if (std::ranges::none_of(parts, [&](std::string_view part) { return own.find(part) != std::string_view::npos; }))
    return false;
  std::string letters;              // lower case, without underscores
  std::vector<bool> begins_a_word;  // for each of them
  char before = ' ';
  for (const char c : own) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '_') {
      letters += static_cast<char>(std::tolower(byte));
      begins_a_word.push_back(std::isupper(byte) != 0 || std::isalpha(static_cast<unsigned char>(before)) == 0);
    }
    before = c;
  }
  for (const std::string_view word : {"allreduce", "allgather", "reducescatter", "alltoall"}) {
    const std::size_t at = letters.find(word);
    if (at == std::string::npos || !begins_a_word[at]) continue;
    const std::string_view scope = std::string_view(letters).substr(0, at);
    return std::ranges::none_of(std::array<std::string_view, 4>{"warp", "block", "thread", "cta"},
                                [&](std::string_view part) { return scope.ends_with(part); });
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
