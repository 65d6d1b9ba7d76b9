// Builds a shard like that of ddpprof's worker, from calls for each event.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "tests/store/shard_builder.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::test {

class TrainingShard {
 public:
  static constexpr std::uint16_t domain = 1;
  ShardBuilder shard;

  explicit TrainingShard(std::int32_t rank, std::int32_t world_size = 2, std::size_t chunk_bytes = trace::chunk_bytes)
      : shard(chunk_bytes) {
    shard.header.rank = rank;
    shard.header.world_size = world_size;
    shard.header.pid = 100 + rank;
    shard.domain(domain, vocabulary::domain_name);
    constexpr std::uint32_t i32 = 15, i64 = 17, u64 = 18;  // NVTX_PAYLOAD_ENTRY_TYPE_INT32, _INT64, _UINT64
    using namespace vocabulary;
    shard.schema(domain, step_id, "ddpprof.step",
                 {{"step", i64, offsetof(StepInfo, step)},
                  {"kind", i32, offsetof(StepInfo, kind)},
                  {"samples", i32, offsetof(StepInfo, samples)}});
    shard.schema(
        domain, collective_id, "ddpprof.collective",
        {{"communicator", u64, 0}, {"sequence", u64, 8}, {"bytes", i64, 16}, {"op", i32, 24}, {"bucket", i32, 28}});
    shard.schema(domain, copy_id, "ddpprof.copy", {{"bytes", i64, 0}, {"replicas", i32, 8}});
    shard.schema(domain, replica_id, "ddpprof.replica", {{"replica", i32, 0}, {"samples", i32, 4}});
    shard.schema(domain, load_id, "ddpprof.load", {{"batch", i64, 0}, {"loader", i32, 8}, {"samples", i32, 12}});
    shard.schema(domain, parameter_id, "ddpprof.parameter", {{"index", i64, 0}, {"numel", i64, 8}, {"bytes", i64, 16}});
    shard.schema(domain, member_id, "ddpprof.bucket_member",
                 {{"generation", i32, 0}, {"bucket", i32, 4}, {"parameter", i64, 8}});
    shard.schema(domain, clock_id, "ddpprof.clock",
                 {{"local_ns", i64, 0}, {"reference_ns", i64, 8}, {"round_trip_ns", i64, 16}});
  }

  void phase(std::string_view name, std::int64_t start_ns, std::int64_t end_ns, std::int64_t tid = main_tid) {
    shard.push(tid, start_ns, name, domain);
    shard.pop(tid, end_ns, domain);
  }
  void copy(std::string_view name, std::int64_t start_ns, std::int64_t end_ns, std::int64_t bytes) {
    push_with(main_tid, start_ns, name, copy_id, vocabulary::CopyInfo{bytes, 2, 0});
    shard.pop(main_tid, end_ns, domain);
  }
  void replica(std::string_view name, std::int32_t index, std::int64_t start_ns, std::int64_t end_ns) {
    push_with(200 + index, start_ns, name, replica_id, vocabulary::ReplicaInfo{index, 4});
    shard.pop(200 + index, end_ns, domain);
  }
  void load(std::int64_t batch, std::int32_t loader, std::int64_t start_ns, std::int64_t end_ns) {
    push_with(300 + loader, start_ns, vocabulary::load_batch, load_id, vocabulary::LoadInfo{batch, loader, 8});
    shard.pop(300 + loader, end_ns, domain);
  }
  void begin_step(std::int64_t step, std::int64_t start_ns, std::int32_t samples = 8,
                  vocabulary::StepKind kind = vocabulary::StepKind::measured) {
    push_with(main_tid, start_ns, vocabulary::step, step_id,
              vocabulary::StepInfo{step, static_cast<std::int32_t>(kind), samples});
  }
  void pop(std::int64_t end_ns) { shard.pop(main_tid, end_ns, domain); }
  void grad(std::int64_t parameter, std::int64_t time_ns) {
    auto event = shard.event(time_ns, vocabulary::grad_ready, domain);
    event.payload_kind = trace::PayloadKind::int64;
    event.payload = std::bit_cast<std::uint64_t>(parameter);
    shard.add(main_tid, trace::RecordType::mark, event);
  }
  void loss(double value, std::int64_t time_ns) { number(vocabulary::loss, value, time_ns); }
  void number(std::string_view name, double value, std::int64_t time_ns) {
    auto event = shard.event(time_ns, name, domain);
    event.payload_kind = trace::PayloadKind::float64;
    event.payload = std::bit_cast<std::uint64_t>(value);
    shard.add(main_tid, trace::RecordType::mark, event);
  }
  void parameter(std::int64_t index, std::string_view name, std::int64_t numel) {
    mark_with(0, name, parameter_id, vocabulary::ParameterInfo{index, numel, 4 * numel});
  }
  void member(std::int32_t generation, std::int32_t bucket, std::int64_t parameter, std::int64_t time_ns) {
    mark_with(time_ns, vocabulary::bucket_member, member_id, vocabulary::BucketMember{generation, bucket, parameter});
  }
  void exchange(std::int64_t local_ns, std::int64_t reference_ns, std::int64_t round_trip_ns) {
    mark_with(local_ns, vocabulary::clock_sample, clock_id,
              vocabulary::ClockSample{local_ns, reference_ns, round_trip_ns});
  }
  void launch(std::uint64_t sequence, std::int32_t bucket, std::int64_t bytes, std::int64_t time_ns) {
    mark_with(time_ns, vocabulary::collective_launch, collective_id, info(sequence, bucket, bytes));
  }
  // A collective in flight on the backend's thread; another thread may record its end.
  void flight(std::uint64_t sequence, std::int32_t bucket, std::int64_t bytes, std::int64_t start_ns,
              std::optional<std::int64_t> end_ns, std::int64_t end_tid = backend_tid) {
    trace::RangeStartRecord start{};
    start.event = extended(start_ns, vocabulary::collective, collective_id);
    start.range_id = ++last_range_;
    trace::RangeEndRecord end{};
    end.header.time_ns = end_ns.value_or(0);
    end.range_id = last_range_;
    shard.add(backend_tid, trace::RecordType::range_start, start,
              ShardBuilder::extended(info(sequence, bucket, bytes)));
    if (end_ns) shard.add(end_tid, trace::RecordType::range_end, end);
  }
  void collective(std::uint64_t sequence, std::int32_t bucket, std::int64_t bytes, std::int64_t launch_ns,
                  std::int64_t start_ns, std::int64_t end_ns) {
    launch(sequence, bucket, bytes, launch_ns);
    flight(sequence, bucket, bytes, start_ns, end_ns);
  }
  void kernel(std::string_view name, std::int64_t start_ns, std::int64_t end_ns, std::uint32_t correlation = 0,
              std::uint64_t graph_node = 0) {
    trace::KernelRecord record{};
    record.correlation_id = correlation;
    record.graph_node_id = graph_node;
    record.header.name_id = shard.text(name);
    record.header.time_ns = start_ns;
    record.end_ns = end_ns;
    for (int& side : record.grid) side = 2;
    for (int& side : record.block) side = 4;
    shard.add(backend_tid, trace::RecordType::kernel, record);
  }

  void api(std::uint32_t correlation, std::int64_t start_ns, std::int64_t end_ns) {
    trace::ApiRecord record{};
    record.header.time_ns = start_ns;
    record.end_ns = end_ns;
    record.domain = 2;
    record.correlation_id = correlation;
    shard.add(backend_tid, trace::RecordType::api_call, record);
  }

  static constexpr std::uint64_t communicator = 0xfedcba9876543210ULL;  // negative as a signed number
  static constexpr std::int64_t main_tid = 10, backend_tid = 20;

 private:
  static constexpr std::uint64_t first_id = std::uint64_t{1} << 32;
  static constexpr std::uint64_t step_id = first_id, collective_id = first_id + 1, copy_id = first_id + 2,
                                 replica_id = first_id + 3, parameter_id = first_id + 4, member_id = first_id + 5,
                                 clock_id = first_id + 6, load_id = first_id + 7;

  static vocabulary::CollectiveInfo info(std::uint64_t sequence, std::int32_t bucket, std::int64_t bytes) {
    return {communicator, sequence, bytes, 0, bucket};
  }
  trace::EventRecord extended(std::int64_t time_ns, std::string_view name, std::uint64_t schema) {
    trace::EventRecord event = shard.event(time_ns, name, domain);
    event.payload_kind = trace::PayloadKind::extended;
    event.payload = schema;
    return event;
  }
  template <class Payload>
  void push_with(std::int64_t tid, std::int64_t time_ns, std::string_view name, std::uint64_t schema, Payload payload) {
    shard.add(tid, trace::RecordType::push, extended(time_ns, name, schema), ShardBuilder::extended(payload));
  }
  template <class Payload>
  void mark_with(std::int64_t time_ns, std::string_view name, std::uint64_t schema, Payload payload) {
    shard.add(main_tid, trace::RecordType::mark, extended(time_ns, name, schema), ShardBuilder::extended(payload));
  }

  std::uint64_t last_range_ = 0;
};

}  // namespace ddpprof::test
