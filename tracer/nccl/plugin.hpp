// Records the events of NCCL's profiler plugin, independent of the version of the interface.
//
// Handles are ids, never addresses, so an event that is stopped twice, late or never does no harm. No function throws,
// blocks (except for the tracer's own short locks), or reports an error to NCCL.
#pragma once

#include <cstdint>

namespace ddpprof::nccl {

struct CommunicatorInfo {
  int version = 0;  // version of the interface that NCCL uses
  const char* name = nullptr;
  std::uint64_t hash = 0;
  int nodes = -1, ranks = -1, rank = -1;  // -1: not available in this version
};

struct OperationInfo {
  const char* function = nullptr;  // NCCL's names since version 2, for example "AllReduce", "ncclFloat32"
  const char *datatype = nullptr, *algorithm = nullptr, *protocol = nullptr;
  std::uint64_t sequence = 0, count = 0;
  int root_or_peer = -1;
  std::uint16_t channels = 0, warps = 0;
  bool point_to_point = false, captured = false;
  const void* group = nullptr;  // handle
  // Versions 1 to 3: the communicator, which their init function does not pass.
  const char* communicator = nullptr;
  std::uint64_t communicator_hash = 0;
  int rank = -1;
};

// Returns the context that NCCL stores for the communicator, and sets `mask` to the requested events. All communicators
// share NCCL's one mask, and all of NCCL's threads read it. So it is written once with its final value; an intermediate
// value would lose collectives of other communicators. Returns nullptr and sets 0 if nothing is recorded; NCCL then
// makes no more calls.
void* open_communicator(const CommunicatorInfo&, int* mask) noexcept;

void* start_group() noexcept;
// Returns a handle which marks the operations below it as captured by a CUDA graph.
void* captured_call() noexcept;
bool is_captured_call(const void* handle) noexcept;
void* start_operation(void* context, const OperationInfo&) noexcept;
// `operation` is the operation's handle, `timer_ns` the GPU's time.
void* start_channel(const void* operation, std::uint8_t channel, std::uint64_t timer_ns) noexcept;
void stop_channel(const void* handle, std::uint64_t timer_ns) noexcept;

}  // namespace ddpprof::nccl
