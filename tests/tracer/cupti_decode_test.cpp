// Compares CUPTI records, built in memory as in CUPTI's buffers, with the records of the shard. Needs no GPU.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tracer/record/cupti/decode.hpp"

namespace ddpprof::record {
namespace {

template <typename Activity>
DecodedActivity decode_record(const Activity& activity, const CuptiClock& clock = CuptiClock::identity()) {
  return decode(*reinterpret_cast<const CUpti_Activity*>(&activity), clock);
}

template <typename Record, typename Activity>
Record decoded(const Activity& activity, const CuptiClock& clock = CuptiClock::identity()) {
  return std::get<Record>(decode_record(activity, clock).record);
}

TEST(CuptiDecode, Kernel) {
  CUpti_ActivityKernel8 in{};
  in.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  in.start = 1000, in.end = 1500;
  in.deviceId = 1, in.contextId = 2, in.streamId = 7, in.correlationId = 42;
  in.gridX = 10, in.gridY = 11, in.gridZ = 12, in.blockX = 128, in.blockY = 2, in.blockZ = 1;
  in.staticSharedMemory = 1024, in.dynamicSharedMemory = 2048, in.registersPerThread = 96, in.graphNodeId = 5;
  in.name = "_Z4gemmPf";
  const DecodedActivity activity = decode_record(in);
  const auto& out = std::get<trace::KernelRecord>(activity.record);
  EXPECT_EQ(out.header.type, trace::RecordType::kernel);
  EXPECT_EQ(out.header.size_bytes, sizeof out);
  EXPECT_EQ(out.header.time_ns, 1000);
  EXPECT_EQ(out.end_ns, 1500);
  EXPECT_EQ(out.device, 1u);
  EXPECT_EQ(out.context, 2u);
  EXPECT_EQ(out.stream, 7u);
  EXPECT_EQ(out.correlation_id, 42u);
  EXPECT_EQ(std::vector(out.grid, out.grid + 3), (std::vector{10, 11, 12}));
  EXPECT_EQ(std::vector(out.block, out.block + 3), (std::vector{128, 2, 1}));
  EXPECT_EQ(out.static_shared_bytes, 1024);
  EXPECT_EQ(out.dynamic_shared_bytes, 2048);
  EXPECT_EQ(out.registers_per_thread, 96u);
  EXPECT_EQ(out.graph_node_id, 5u);
  EXPECT_STREQ(activity.name, "_Z4gemmPf");
}

#if CUPTI_API_VERSION >= 130000
// decode() reads the structs of CUPTI 11.8. CUPTI 13 delivers later structs.
TEST(CuptiDecode, LaterStructsReadAlike) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 1000, kernel.end = 1500, kernel.correlationId = 42, kernel.streamId = 7, kernel.graphNodeId = 5;
  kernel.dynamicSharedMemory = 2048, kernel.registersPerThread = 96, kernel.blockZ = 3, kernel.name = "gemm";
  const DecodedActivity activity = decode_record(kernel);
  const auto& out = std::get<trace::KernelRecord>(activity.record);
  EXPECT_EQ(out.header.time_ns, 1000);
  EXPECT_EQ(out.end_ns, 1500);
  EXPECT_EQ(out.correlation_id, 42u);
  EXPECT_EQ(out.stream, 7u);
  EXPECT_EQ(out.graph_node_id, 5u);
  EXPECT_EQ(out.dynamic_shared_bytes, 2048);
  EXPECT_EQ(out.registers_per_thread, 96u);
  EXPECT_EQ(out.block[2], 3);
  EXPECT_STREQ(activity.name, "gemm");

  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.bytes = 64, copy.start = 10, copy.end = 20, copy.correlationId = 8;
  EXPECT_EQ(decoded<trace::CopyRecord>(copy).bytes, 64u);
  EXPECT_EQ(decoded<trace::CopyRecord>(copy).end_ns, 20);
  EXPECT_EQ(decoded<trace::CopyRecord>(copy).correlation_id, 8u);

  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 55;
  overhead.start = 7, overhead.end = 9;
  EXPECT_EQ(decoded<trace::OverheadRecord>(overhead).object_id, 55u);
  EXPECT_EQ(decoded<trace::OverheadRecord>(overhead).end_ns, 9);
}
#endif

TEST(CuptiDecode, Copies) {
  CUpti_ActivityMemcpy5 in{};
  in.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  in.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  in.bytes = 1 << 20, in.start = 10, in.end = 20, in.deviceId = 3, in.contextId = 1, in.streamId = 9,
  in.correlationId = 8;
  const auto copy = decoded<trace::CopyRecord>(in);
  EXPECT_EQ(copy.header.type, trace::RecordType::memcpy_);
  EXPECT_EQ(copy.kind, static_cast<std::uint32_t>(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH));
  EXPECT_EQ(copy.bytes, 1u << 20);
  EXPECT_EQ(copy.device, 3u);
  EXPECT_EQ(copy.peer_device, 3u);
  EXPECT_EQ(copy.correlation_id, 8u);

  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.bytes = 64, peer.start = 30, peer.end = 40, peer.deviceId = 0, peer.srcDeviceId = 1, peer.dstDeviceId = 2;
  peer.streamId = 4, peer.correlationId = 77;
  const auto between = decoded<trace::CopyRecord>(peer);
  EXPECT_EQ(between.kind, static_cast<std::uint32_t>(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP));
  EXPECT_EQ(between.device, 1u);
  EXPECT_EQ(between.peer_device, 2u);
  EXPECT_EQ(between.correlation_id, 77u);

  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 4096, set.start = 50, set.end = 60, set.deviceId = 1, set.streamId = 2, set.correlationId = 3;
  const auto memset_record = decoded<trace::CopyRecord>(set);
  EXPECT_EQ(memset_record.kind, 1000u);  // shard_format.hpp
  EXPECT_EQ(memset_record.bytes, 4096u);
  EXPECT_EQ(memset_record.header.time_ns, 50);
  EXPECT_EQ(memset_record.end_ns, 60);
}

TEST(CuptiDecode, ApiCallsSayWhichApi) {
  CUpti_ActivityAPI in{};
  in.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  in.cbid = 211, in.start = 5, in.end = 6, in.threadId = 999, in.correlationId = 12, in.returnValue = 2;
  auto out = decoded<trace::ApiRecord>(in);
  EXPECT_EQ(out.domain, 2u);
  EXPECT_EQ(out.cbid, 211u);
  EXPECT_EQ(out.thread, 999u);
  EXPECT_EQ(out.correlation_id, 12u);
  EXPECT_EQ(out.return_value, 2u);
  in.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  EXPECT_EQ(decoded<trace::ApiRecord>(in).domain, 1u);
  in.cbid = CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion;
  EXPECT_EQ(decoded<Heartbeat>(in).time_ns, 5);
}

TEST(CuptiDecode, MarkersCorrelationsOverheads) {
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  marker.timestamp = 123, marker.id = 4, marker.name = "range", marker.domain = "NCCL";
  const DecodedActivity activity = decode_record(marker);
  const auto& out = std::get<trace::GpuMarkerRecord>(activity.record);
  EXPECT_EQ(out.header.time_ns, 123);
  EXPECT_EQ(out.marker_id, 4u);
  EXPECT_EQ(out.flags, static_cast<std::uint32_t>(CUPTI_ACTIVITY_FLAG_MARKER_START));
  EXPECT_STREQ(activity.name, "range");
  EXPECT_STREQ(activity.domain, "NCCL");

  CUpti_ActivityExternalCorrelation external{};
  external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  external.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  external.externalId = 0x123456789a, external.correlationId = 42;
  const auto correlation = decoded<trace::CorrelationRecord>(external);
  EXPECT_EQ(correlation.external_id, 0x123456789au);
  EXPECT_EQ(correlation.correlation_id, 42u);
  EXPECT_EQ(correlation.external_kind, static_cast<std::uint32_t>(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0));

  CUpti_ActivityOverhead overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.processId = 1, overhead.objectId.pt.threadId = 55;
  overhead.start = 7, overhead.end = 9;
  const auto cost = decoded<trace::OverheadRecord>(overhead);
  EXPECT_EQ(cost.kind, static_cast<std::uint32_t>(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH));
  EXPECT_EQ(cost.object_id, 55u);
  EXPECT_EQ(cost.end_ns - cost.header.time_ns, 2);
}

TEST(CuptiDecode, WhatItDoesNotKnowItSays) {
  CUpti_ActivityKernel8 in{};
  in.kind = static_cast<CUpti_ActivityKind>(9999);
  EXPECT_EQ(decoded<UnknownActivity>(in).kind, 9999u);
  in.kind = CUPTI_ACTIVITY_KIND_KERNEL;  // both times 0: CUPTI has no times
  EXPECT_EQ(decoded<UntimedActivity>(in).kind, static_cast<std::uint32_t>(CUPTI_ACTIVITY_KIND_KERNEL));
}

// Records of an older CUPTI are shorter. The fields that are read have the same place in all versions.
TEST(CuptiDecode, OlderStructsReadAlike) {
  CUpti_ActivityKernel5 kernel{};  // CUDA 11.0
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 1000, kernel.end = 1500, kernel.correlationId = 42, kernel.graphNodeId = 5, kernel.name = "gemm";
  EXPECT_LE(least_bytes(kernel.kind), sizeof kernel);
  std::vector<std::byte> bytes(sizeof(CUpti_ActivityKernel8));
  std::memcpy(bytes.data(), &kernel, sizeof kernel);
  const DecodedActivity activity =
      decode(*reinterpret_cast<const CUpti_Activity*>(bytes.data()), CuptiClock::identity());
  EXPECT_EQ(std::get<trace::KernelRecord>(activity.record).correlation_id, 42u);
  EXPECT_EQ(std::get<trace::KernelRecord>(activity.record).graph_node_id, 5u);
  EXPECT_STREQ(activity.name, "gemm");
  EXPECT_LE(least_bytes(CUPTI_ACTIVITY_KIND_MEMCPY), sizeof(CUpti_ActivityMemcpy4));
  EXPECT_LE(least_bytes(CUPTI_ACTIVITY_KIND_MEMCPY2), sizeof(CUpti_ActivityMemcpyPtoP3));
  EXPECT_LE(least_bytes(CUPTI_ACTIVITY_KIND_MEMSET), sizeof(CUpti_ActivityMemset3));
}

// Two pairs 10 s apart; CUPTI's clock is 100 ppm slower than CLOCK_MONOTONIC.
TEST(CuptiClock, InterpolatesBetweenPairs) {
  const CuptiClock clock =
      CuptiClock::between({1'000'000, 5'000'000}, {1'000'000 + 10'000'000'000, 5'000'000 + 10'001'000'000});
  EXPECT_EQ(clock.to_monotonic_ns(1'000'000), 5'000'000);
  EXPECT_EQ(clock.to_monotonic_ns(1'000'000 + 5'000'000'000), 5'000'000 + 5'000'500'000);
  EXPECT_EQ(clock.to_monotonic_ns(1'000'000 + 10'000'000'000), 5'000'000 + 10'001'000'000);
}

// An error of 200 ns over 1 ms would be 200 ppm: 0.2 ms for an event of one second before.
TEST(CuptiClock, PairsCloserThanTheLeastDistanceGiveOnlyTheOffset) {
  const CuptiClock clock = CuptiClock::between({10'000'000'000, 20'000'000'000}, {10'001'000'000, 20'001'000'200});
  EXPECT_EQ(clock.to_monotonic_ns(9'000'000'000), 19'000'000'000);
}

TEST(CuptiClock, EqualPairsGiveTheirOffset) {
  EXPECT_EQ(CuptiClock::between({100, 1100}, {100, 1100}).to_monotonic_ns(150), 1150);
}

// CUPTI's clock was set between the two pairs, or was not read: then the first pair is {0, 0}.
TEST(CuptiClock, AnImplausibleRateGivesTheOffsetOfTheLastPair) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000, second_ns = 1'000'000'000;
  const CuptiClock::Pair last{2 * hour_ns, 10 * second_ns};
  for (const CuptiClock::Pair first : {CuptiClock::Pair{3 * hour_ns - second_ns, 9 * second_ns},      // set back
                                       CuptiClock::Pair{3 * hour_ns - 1000, 10 * second_ns - 1000},   // only just now
                                       CuptiClock::Pair{hour_ns - second_ns, 9 * second_ns},          // set forward
                                       CuptiClock::Pair{2 * hour_ns - second_ns / 4, 9 * second_ns},  // by 0.75 s
                                       CuptiClock::Pair{2 * hour_ns, 9 * second_ns},                  // by 1 s, back
                                       CuptiClock::Pair{}})
    EXPECT_EQ(CuptiClock::between(first, last).to_monotonic_ns(2 * hour_ns + 50), 10 * second_ns + 50)
        << first.cupti_ns;
}

}  // namespace
}  // namespace ddpprof::record
