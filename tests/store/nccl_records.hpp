// Writes the records of NCCL's profiler plugin into a shard.
#pragma once

#include <cstdint>
#include <string_view>

#include "tests/store/shard_builder.hpp"

namespace ddpprof::test {

inline void add_communicator(ShardBuilder& shard, std::uint64_t communicator, std::uint64_t hash, std::int32_t ranks) {
  trace::NcclCommunicatorRecord record{};
  record.communicator = communicator;
  record.hash = hash;
  record.ranks = ranks;
  record.interface_version = 5;
  shard.add(3, trace::RecordType::nccl_communicator, record);
}

struct NcclOperation {
  std::int64_t tid = 7, time_ns = 0;
  std::uint64_t operation = 0, group = 0, communicator = 1, sequence = 0, count = 0;
  std::string_view function = "AllReduce", datatype = "ncclFloat32", algorithm = "RING", protocol = "LL";
  std::uint16_t channels = 8;
  std::uint32_t flags = 0;
};

inline void add_operation(ShardBuilder& shard, const NcclOperation& of) {
  trace::NcclOperationRecord record{};
  record.header.name_id = shard.text(of.function);
  record.header.time_ns = of.time_ns;
  record.operation = of.operation;
  record.group = of.group;
  record.communicator = of.communicator;
  record.sequence = of.sequence;
  record.count = of.count;
  record.datatype_id = shard.text(of.datatype);
  record.algorithm_id = of.algorithm.empty() ? 0 : shard.text(of.algorithm);
  record.protocol_id = of.protocol.empty() ? 0 : shard.text(of.protocol);
  record.channels = of.channels;
  record.flags = of.flags;
  shard.add(of.tid, trace::RecordType::nccl_operation, record);
}

// Start and end of one channel: times of the GPU's timer, and times at which the host noticed them.
inline void add_channel(ShardBuilder& shard, std::uint64_t event, std::uint64_t operation, std::uint64_t begin_timer_ns,
                        std::uint64_t end_timer_ns, std::int64_t begin_seen_ns, std::int64_t end_seen_ns) {
  trace::NcclChannelRecord record{};
  record.header.time_ns = begin_seen_ns;
  record.event = event;
  record.operation = operation;
  record.timer_ns = begin_timer_ns;
  shard.add(55, trace::RecordType::nccl_channel, record);
  record.header.time_ns = end_seen_ns;
  record.operation = 0;
  record.timer_ns = end_timer_ns;
  record.ended = 1;
  shard.add(55, trace::RecordType::nccl_channel, record);
}

}  // namespace ddpprof::test
