// What NCCL's profiler plugin does with an event, whichever version of the interface it came by.
//
// NCCL gets ids for handles, never addresses: an event that is stopped twice, late or never costs and breaks nothing.
// No function throws, blocks on anything but the tracer's own short locks, or reports an error to NCCL.
#pragma once

#include <cstdint>

namespace ddpprof::nccl {

struct CommunicatorInfo {
  int version = 0;  // of the interface that NCCL took
  const char* name = nullptr;
  std::uint64_t hash = 0;
  int nodes = -1, ranks = -1, rank = -1;  // -1: this version does not tell
};

struct OperationInfo {
  const char* function = nullptr;  // names as NCCL gives them since version 2, e.g. "AllReduce", "ncclFloat32"
  const char *datatype = nullptr, *algorithm = nullptr, *protocol = nullptr;
  std::uint64_t sequence = 0, count = 0;
  int root_or_peer = -1;
  std::uint16_t channels = 0, warps = 0;
  bool point_to_point = false, captured = false;
  const void* group = nullptr;  // handle
  // Versions 1 to 3: the communicator, which init was not told.
  const char* communicator = nullptr;
  std::uint64_t communicator_hash = 0;
  int rank = -1;
};

// The context that NCCL keeps for the communicator and, in `mask`, the events that are wanted. The mask is NCCL's only
// one, read by all of its threads: it is written once, as it stays, or where another communicator's collectives run
// meanwhile they would be lost. nullptr and 0: nothing is recorded, and NCCL calls no more.
void* open_communicator(const CommunicatorInfo&, int* mask) noexcept;

void* start_group() noexcept;
// A handle that says to the operations below it that a CUDA graph captured them.
void* captured_call() noexcept;
bool is_captured_call(const void* handle) noexcept;
void* start_operation(void* context, const OperationInfo&) noexcept;
// `timer_ns`: of the GPU; `operation`: its handle.
void* start_channel(const void* operation, std::uint8_t channel, std::uint64_t timer_ns) noexcept;
void stop_channel(const void* handle, std::uint64_t timer_ns) noexcept;

}  // namespace ddpprof::nccl
