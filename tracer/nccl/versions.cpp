// The tables that NCCL looks up in the library of NCCL_PROFILER_PLUGIN: one for each version of the interface.
#include <array>

#include "tracer/nccl/interface.hpp"
#include "tracer/nccl/plugin.hpp"

namespace ddpprof::nccl {
namespace {

constexpr const char* plugin_name = "ddpprof";

// Version 1 passes values of NCCL 2.23's enumerations, later versions pass these names. Larger values have no name.
template <std::size_t count>
const char* name_of(const std::array<const char*, count>& names, std::uint8_t code) {
  return code < count ? names[code] : nullptr;
}
constexpr std::array functions = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                  "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr std::array datatypes = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                  "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
constexpr std::array algorithms = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array protocols = {"LL", "LL128", "SIMPLE"};

template <typename Fields>
void take_function(OperationInfo& info, const Fields& fields) {
  if constexpr (requires { *fields.function; }) {
    info.function = fields.function;
    info.datatype = fields.datatype;
  } else {
    info.function = name_of(functions, fields.function);
    info.datatype = name_of(datatypes, fields.datatype);
  }
  info.count = fields.count;
  if constexpr (requires { fields.communicator; }) {
    info.communicator = fields.communicator;
    info.communicator_hash = fields.communicator_hash;
  }
  if constexpr (requires { fields.channels; }) info.channels = fields.channels;
}

template <typename DescriptorType>
void take_parents(OperationInfo& info, const DescriptorType& descriptor, const auto& fields) {
  info.rank = descriptor.rank;
  if constexpr (requires { fields.group; }) {
    info.group = fields.group;
    info.captured = is_captured_call(descriptor.parent);
  } else {
    info.group = descriptor.parent;
  }
}

template <typename DescriptorType>
void* start_collective(void* context, const DescriptorType& descriptor) {
  const auto& fields = descriptor.collective;
  OperationInfo info;
  take_function(info, fields);
  take_parents(info, descriptor, fields);
  if constexpr (requires { *fields.algorithm; }) {
    info.algorithm = fields.algorithm;
    info.protocol = fields.protocol;
  } else {
    info.algorithm = name_of(algorithms, fields.algorithm);
    info.protocol = name_of(protocols, fields.protocol);
  }
  info.sequence = fields.sequence;
  info.root_or_peer = fields.root;
  info.warps = fields.warps;
  return start_operation(context, info);
}

template <typename DescriptorType>
void* start_message(void* context, const DescriptorType& descriptor) {
  OperationInfo info;
  take_function(info, descriptor.point_to_point);
  take_parents(info, descriptor, descriptor.point_to_point);
  info.root_or_peer = descriptor.point_to_point.peer;
  info.point_to_point = true;
  return start_operation(context, info);
}

// Always sets the handle: NCCL also reads it after events that this plugin did not request (calls, since version 5).
template <int version, typename DescriptorType>
Result start_event(void* context, void** handle, DescriptorType* descriptor) noexcept {
  if (handle == nullptr) return success;
  *handle = nullptr;
  if (context == nullptr || descriptor == nullptr) return success;
  switch (static_cast<std::uint64_t>(descriptor->type)) {
    case event_group:  // NCCL up to 2.27 does not report operations whose group has no handle
      *handle = start_group();
      break;
    case event_collective:
      *handle = start_collective(context, *descriptor);
      break;
    case event_point_to_point:
      *handle = start_message(context, *descriptor);
      break;
    case event_collective_call:
      if (version >= 5 && descriptor->collective_call.captured) *handle = captured_call();
      break;
    case event_point_to_point_call:
      if (version >= 5 && descriptor->point_to_point_call.captured) *handle = captured_call();
      break;
    case event_kernel_channel:
      if (version >= 4)
        *handle =
            start_channel(descriptor->parent, descriptor->kernel_channel.channel, descriptor->kernel_channel.timer_ns);
      break;
    default:
      break;
  }
  return success;
}

Result stop_event(void*) noexcept { return success; }

Result ignore_event_state(void*, int, StateArguments*) noexcept { return success; }
Result record_event_state(void* handle, int state, StateArguments* arguments) noexcept {
  if (state == state_kernel_channel_stop) stop_channel(handle, arguments == nullptr ? 0 : arguments->timer_ns);
  return success;
}

Result finalize(void*) noexcept { return success; }

template <int version>
Result init_nameless(void** context, int* mask) noexcept {
  void* const opened = context == nullptr ? nullptr : open_communicator({.version = version}, mask);
  if (context != nullptr) *context = opened;
  return success;
}

Result init_named(int version, void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks,
                  int rank) noexcept {
  if (context == nullptr) {
    if (mask != nullptr) *mask = 0;
    return success;
  }
  *context = open_communicator({version, name, hash, nodes, ranks, rank}, mask);
  return success;
}

Result init4(void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks, int rank,
             Logger) noexcept {
  return init_named(4, context, mask, name, hash, nodes, ranks, rank);
}
template <int version>
Result init5(void** context, std::uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank,
             Logger) noexcept {
  return init_named(version, context, mask, name, hash, nodes, ranks, rank);
}

}  // namespace
}  // namespace ddpprof::nccl

#define DDPPROF_EXPORT __attribute__((visibility("default")))

using namespace ddpprof::nccl;

extern "C" {
DDPPROF_EXPORT extern const Table<Init1, Descriptor1> ncclProfiler_v1;
DDPPROF_EXPORT extern const Table<Init1, Descriptor2> ncclProfiler_v2;
DDPPROF_EXPORT extern const Table<Init1, Descriptor3> ncclProfiler_v3;
DDPPROF_EXPORT extern const Table<Init4, Descriptor4> ncclProfiler_v4;
DDPPROF_EXPORT extern const Table<Init5, Descriptor5> ncclProfiler_v5;
DDPPROF_EXPORT extern const Table<Init5, Descriptor5> ncclProfiler_v6;
}

const Table<Init1, Descriptor1> ncclProfiler_v1 = {plugin_name, init_nameless<1>,   start_event<1, Descriptor1>,
                                                   stop_event,  ignore_event_state, finalize};
const Table<Init1, Descriptor2> ncclProfiler_v2 = {plugin_name, init_nameless<2>,   start_event<2, Descriptor2>,
                                                   stop_event,  ignore_event_state, finalize};
const Table<Init1, Descriptor3> ncclProfiler_v3 = {plugin_name, init_nameless<3>,   start_event<3, Descriptor3>,
                                                   stop_event,  ignore_event_state, finalize};
const Table<Init4, Descriptor4> ncclProfiler_v4 = {plugin_name,        init4,   start_event<4, Descriptor4>, stop_event,
                                                   record_event_state, finalize};
const Table<Init5, Descriptor5> ncclProfiler_v5 = {plugin_name, init5<5>,           start_event<5, Descriptor5>,
                                                   stop_event,  record_event_state, finalize};
const Table<Init5, Descriptor5> ncclProfiler_v6 = {plugin_name, init5<6>,           start_event<6, Descriptor5>,
                                                   stop_event,  record_event_state, finalize};
