// The part of the binary interface of NCCL's profiler plugins, versions 1 to 6, that this plugin uses.
//
// Source: NCCL's public headers (github.com/NVIDIA/nccl: src/include/nccl_profiler.h of 2.23 to 2.25, since then
// src/include/plugin/profiler/profiler_v*.h). Sizes and offsets were taken from those headers, compiled as of 2.23.4,
// 2.24.3, 2.25.1, 2.26.2, 2.26.6, 2.27.3, 2.27.7, 2.28.3, 2.28.9, 2.29.2, 2.29.7, 2.30.3 and 2.30.7. The assertions
// check the declarations against them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddpprof::nccl {

using Result = int;  // ncclResult_t
inline constexpr Result success = 0;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

// Bits of the activation mask; a descriptor's type is one of them.
inline constexpr std::uint64_t event_group = 1 << 0, event_collective = 1 << 1, event_point_to_point = 1 << 2,
                               event_kernel_channel = 1 << 6, event_collective_call = 1 << 9,
                               event_point_to_point_call = 1 << 10;
// recordEventState's state when a channel of a kernel ended (since version 4).
inline constexpr int state_kernel_channel_stop = 22;

// Versions 1 to 3 pass the communicator with each event.
struct Collective1 {  // NCCL 2.23: codes instead of names
  const char* communicator;
  std::uint64_t communicator_hash, sequence;
  std::uint8_t function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  std::uint8_t datatype;
  std::uint32_t reduction;
  std::size_t traffic_bytes;
  std::uint8_t channels, warps, algorithm, protocol;
  int collnet, nvls;
};
struct Collective2 {  // 2.24, 2.25
  const char* communicator;
  std::uint64_t communicator_hash, sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t traffic_bytes;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Collective3 {  // 2.26
  const char* communicator;
  std::uint64_t communicator_hash, sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Collective4 {  // 2.27
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Collective5 {  // 2.28 and, as version 6, since 2.29
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* group;  // the descriptor's parent is the call, not the group
};

struct PointToPoint1 {
  const char* communicator;
  std::uint64_t communicator_hash;
  std::uint8_t function;
  void* buffer;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};
struct PointToPoint2 {  // also version 3
  const char* communicator;
  std::uint64_t communicator_hash;
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
};
struct PointToPoint4 {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};
struct PointToPoint5 {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;
};

struct CollectiveCall {  // since version 5
  const char* function;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool captured;
};
struct PointToPointCall {  // since version 5
  const char* function;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool captured;
};
struct KernelChannel {  // since version 3, the timer since version 4
  std::uint8_t channel;
  std::uint64_t timer_ns;  // the GPU's globaltimer
};

template <typename Type, typename Collective, typename PointToPoint, std::size_t largest_bytes>
struct Descriptor {
  Type type;
  void* parent;
  int rank;
  union {
    Collective collective;
    PointToPoint point_to_point;
    CollectiveCall collective_call;
    PointToPointCall point_to_point_call;
    KernelChannel kernel_channel;
    std::byte largest[largest_bytes];
  };
};
using Descriptor1 = Descriptor<std::uint8_t, Collective1, PointToPoint1, 96>;
using Descriptor2 = Descriptor<std::uint8_t, Collective2, PointToPoint2, 104>;
using Descriptor3 = Descriptor<std::uint8_t, Collective3, PointToPoint2, 96>;
using Descriptor4 = Descriptor<std::uint8_t, Collective4, PointToPoint4, 80>;
using Descriptor5 = Descriptor<std::uint64_t, Collective5, PointToPoint5, 88>;

union StateArguments {  // what recordEventState passes with state_kernel_channel_stop
  std::uint64_t timer_ns;
};

// The symbols that NCCL looks up by name.
template <typename Init, typename DescriptorType>
struct Table {
  const char* name;
  Init* init;
  Result (*start_event)(void* context, void** handle, DescriptorType*);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, StateArguments*);
  Result (*finalize)(void* context);
};
using Init1 = Result(void** context, int* mask);
using Init4 = Result(void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks, int rank,
                     Logger);
using Init5 = Result(void** context, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
                     Logger);

static_assert(sizeof(Descriptor1) == 120 && sizeof(Descriptor2) == 128 && sizeof(Descriptor3) == 120 &&
              sizeof(Descriptor4) == 104 && sizeof(Descriptor5) == 112);
static_assert(offsetof(Descriptor1, parent) == 8 && offsetof(Descriptor1, rank) == 16 &&
              offsetof(Descriptor5, parent) == 8 && offsetof(Descriptor5, rank) == 16);
static_assert(offsetof(Descriptor1, collective) == 24 && offsetof(Descriptor5, collective) == 24);
static_assert(offsetof(Collective1, communicator_hash) == 8 && offsetof(Collective1, sequence) == 16 &&
              offsetof(Collective1, function) == 24 && offsetof(Collective1, count) == 48 &&
              offsetof(Collective1, root) == 56 && offsetof(Collective1, datatype) == 60 &&
              offsetof(Collective1, channels) == 80 && offsetof(Collective1, warps) == 81 &&
              offsetof(Collective1, algorithm) == 82 && offsetof(Collective1, protocol) == 83);
static_assert(offsetof(Collective2, function) == 24 && offsetof(Collective2, count) == 48 &&
              offsetof(Collective2, datatype) == 64 && offsetof(Collective2, channels) == 80 &&
              offsetof(Collective2, algorithm) == 88 && offsetof(Collective2, protocol) == 96);
static_assert(offsetof(Collective3, function) == 24 && offsetof(Collective3, datatype) == 64 &&
              offsetof(Collective3, channels) == 72 && offsetof(Collective3, warps) == 73 &&
              offsetof(Collective3, algorithm) == 80 && offsetof(Collective3, protocol) == 88);
static_assert(offsetof(Collective4, function) == 8 && offsetof(Collective4, count) == 32 &&
              offsetof(Collective4, root) == 40 && offsetof(Collective4, datatype) == 48 &&
              offsetof(Collective4, channels) == 56 && offsetof(Collective4, warps) == 57 &&
              offsetof(Collective4, algorithm) == 64 && offsetof(Collective4, protocol) == 72);
static_assert(offsetof(Collective5, protocol) == 72 && offsetof(Collective5, group) == 80);
static_assert(offsetof(PointToPoint1, function) == 16 && offsetof(PointToPoint1, datatype) == 32 &&
              offsetof(PointToPoint1, count) == 40 && offsetof(PointToPoint1, peer) == 48);
static_assert(offsetof(PointToPoint2, function) == 16 && offsetof(PointToPoint2, datatype) == 32 &&
              offsetof(PointToPoint2, count) == 40 && offsetof(PointToPoint2, peer) == 48);
static_assert(offsetof(PointToPoint4, datatype) == 16 && offsetof(PointToPoint4, count) == 24 &&
              offsetof(PointToPoint4, peer) == 32 && offsetof(PointToPoint4, channels) == 36);
static_assert(offsetof(PointToPoint5, channels) == 36 && offsetof(PointToPoint5, group) == 40);
static_assert(offsetof(CollectiveCall, captured) == 40 && offsetof(PointToPointCall, captured) == 32);
static_assert(offsetof(KernelChannel, timer_ns) == 8 && sizeof(StateArguments) == 8);
static_assert(sizeof(Table<Init1, Descriptor1>) == 48);

}  // namespace ddpprof::nccl
