// The libraries whose kernels communicate, and the prefixes of annotations that name a communication backend. The only
// place with such names: a new library is one row here.
#pragma once

#include <string_view>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// Returns true for kernels that communicate between ranks, by their names: NCCL and RCCL in all versions, oneCCL, HCCL,
// DeepEP, NVSHMEM, symmetric memory, MSCCL and MSCCL++, and kernels with the name of a collective such as all-reduce.
//
// Names are the second source. A kernel that was launched by a recorded collective call communicates whatever its name
// is (collective_launches.hpp).
bool is_collective_kernel(std::string_view kernel_name);

// Returns the operation of a kernel for which is_collective_kernel() is true.
CollectiveOp collective_op_of_kernel(std::string_view kernel_name);

enum class BackendKind { none, host, device };

// Returns the kind of the backend that an annotation such as "nccl:all_reduce" or "gloo:all_reduce" names: `host` if
// threads of the CPU execute the collective, so that the annotation is its run; `device` if kernels execute it. None
// for other texts.
BackendKind annotated_backend(std::string_view annotation);

// Returns true if the backend's collectives run on devices: "nccl", "xccl", "hccl", "cpu:gloo,cuda:nccl".
bool is_device_backend(std::string_view backend);

}  // namespace ddpprof::import
