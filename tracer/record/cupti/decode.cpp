#include "tracer/record/cupti/decode.hpp"

#include <cstddef>

namespace ddpprof::record {
namespace {

using trace::RecordType;

// These are the structs of CUPTI 11.8, which the headers up to 13.0 still have. (The version number in the headers does
// not distinguish 11.8 from 12.1.) From CUPTI 11.0 on (CUpti_ActivityKernel5) fields were only appended to records. So
// the fields that are read here have the same place in every version, and this code compiles with every toolkit. The
// assertions check the places against the header of this build.
static_assert(offsetof(CUpti_ActivityKernel8, name) == 104 && offsetof(CUpti_ActivityKernel8, graphNodeId) == 144);
static_assert(offsetof(CUpti_ActivityMemcpy5, correlationId) == 44);
static_assert(offsetof(CUpti_ActivityMemcpyPtoP4, correlationId) == 60);
static_assert(offsetof(CUpti_ActivityMemset4, correlationId) == 44);
static_assert(offsetof(CUpti_ActivityOverhead, start) == 24 && offsetof(CUpti_ActivityOverhead, end) == 32);

constexpr std::uint32_t memset_kind = 1000;  // CopyRecord::kind
constexpr std::uint32_t driver_domain = 1, runtime_domain = 2;
constexpr auto graph_trace_kind = static_cast<CUpti_ActivityKind>(51);  // CUPTI_ACTIVITY_KIND_GRAPH_TRACE, from 11.7

// A forced flush also returns activities that still run; they have a start but no end.
bool untimed(std::uint64_t start, std::uint64_t end) { return start == 0 || end < start; }

template <typename Record>
Record timed(RecordType type, std::uint64_t start, std::uint64_t end, const CuptiClock& clock) {
  Record record{};
  record.header = {type, sizeof(Record), 0, clock.to_monotonic_ns(start)};
  record.end_ns = clock.to_monotonic_ns(end);
  return record;
}

DecodedActivity kernel(const CUpti_ActivityKernel8& in, const CuptiClock& clock) {
  if (untimed(in.start, in.end)) return {UntimedActivity{in.kind}};
  auto out = timed<trace::KernelRecord>(RecordType::kernel, in.start, in.end, clock);
  out.device = in.deviceId;
  out.context = in.contextId;
  out.stream = in.streamId;
  out.correlation_id = in.correlationId;
  out.grid[0] = in.gridX, out.grid[1] = in.gridY, out.grid[2] = in.gridZ;
  out.block[0] = in.blockX, out.block[1] = in.blockY, out.block[2] = in.blockZ;
  out.static_shared_bytes = in.staticSharedMemory;
  out.dynamic_shared_bytes = in.dynamicSharedMemory;
  out.registers_per_thread = in.registersPerThread;
  out.graph_node_id = in.graphNodeId;
  return {out, in.name};
}

template <typename Copy>
DecodedActivity copy(const Copy& in, std::uint32_t kind, std::uint32_t device, std::uint32_t peer,
                     const CuptiClock& clock) {
  if (untimed(in.start, in.end)) return {UntimedActivity{in.kind}};
  auto out = timed<trace::CopyRecord>(RecordType::memcpy_, in.start, in.end, clock);
  out.bytes = in.bytes;
  out.device = device;
  out.context = in.contextId;
  out.stream = in.streamId;
  out.correlation_id = in.correlationId;
  out.kind = kind;
  out.peer_device = peer;
  return {out};
}

DecodedActivity api_call(const CUpti_ActivityAPI& in, std::uint32_t domain, const CuptiClock& clock) {
  if (domain == driver_domain && in.cbid == CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion)
    return {Heartbeat{clock.to_monotonic_ns(in.start)}};
  if (untimed(in.start, in.end)) return {UntimedActivity{in.kind}};
  auto out = timed<trace::ApiRecord>(RecordType::api_call, in.start, in.end, clock);
  out.domain = domain;
  out.cbid = in.cbid;
  out.thread = in.threadId;
  out.correlation_id = in.correlationId;
  out.return_value = in.returnValue;
  return {out};
}

DecodedActivity marker(const CUpti_ActivityMarker2& in, const CuptiClock& clock) {
  if (in.timestamp == 0) return {UntimedActivity{in.kind}};
  trace::GpuMarkerRecord out{};
  out.header = {RecordType::gpu_marker, sizeof out, 0, clock.to_monotonic_ns(in.timestamp)};
  out.marker_id = in.id;
  out.flags = static_cast<std::uint32_t>(in.flags);
  return {out, in.name, in.domain};
}

DecodedActivity correlation(const CUpti_ActivityExternalCorrelation& in) {
  trace::CorrelationRecord out{};
  out.header = {RecordType::correlation, sizeof out, 0, 0};  // CUPTI's record has no time
  out.external_id = in.externalId;
  out.external_kind = static_cast<std::uint32_t>(in.externalKind);
  out.correlation_id = in.correlationId;
  return {out};
}

DecodedActivity overhead(const CUpti_ActivityOverhead& in, const CuptiClock& clock) {
  if (untimed(in.start, in.end)) return {UntimedActivity{static_cast<std::uint32_t>(in.kind)}};
  auto out = timed<trace::OverheadRecord>(RecordType::overhead, in.start, in.end, clock);
  out.kind = static_cast<std::uint32_t>(in.overheadKind);
  const bool on_host = in.objectKind == CUPTI_ACTIVITY_OBJECT_PROCESS || in.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
  out.object_id = on_host ? in.objectId.pt.threadId : in.objectId.dcs.deviceId;
  return {out};
}

}  // namespace

std::size_t least_bytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return offsetof(CUpti_ActivityKernel8, graphNodeId) + sizeof(CUpti_ActivityKernel8::graphNodeId);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return offsetof(CUpti_ActivityMemcpy5, correlationId) + sizeof(CUpti_ActivityMemcpy5::correlationId);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return offsetof(CUpti_ActivityMemcpyPtoP4, correlationId) + sizeof(CUpti_ActivityMemcpyPtoP4::correlationId);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return offsetof(CUpti_ActivityMemset4, correlationId) + sizeof(CUpti_ActivityMemset4::correlationId);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return offsetof(CUpti_ActivityAPI, returnValue) + sizeof(CUpti_ActivityAPI::returnValue);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return offsetof(CUpti_ActivityMarker2, domain) + sizeof(CUpti_ActivityMarker2::domain);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return offsetof(CUpti_ActivityExternalCorrelation, correlationId) +
             sizeof(CUpti_ActivityExternalCorrelation::correlationId);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return offsetof(CUpti_ActivityOverhead, end) + sizeof(CUpti_ActivityOverhead::end);
    default:
      return sizeof(CUpti_ActivityKind);
  }
}

DecodedActivity decode(const CUpti_Activity& activity, const CuptiClock& clock) {
  const auto as = [&]<typename T>() -> const T& { return *reinterpret_cast<const T*>(&activity); };
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kernel(as.operator()<CUpti_ActivityKernel8>(), clock);
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& in = as.operator()<CUpti_ActivityMemcpy5>();
      return copy(in, in.copyKind, in.deviceId, in.deviceId, clock);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& in = as.operator()<CUpti_ActivityMemcpyPtoP4>();
      return copy(in, in.copyKind, in.srcDeviceId, in.dstDeviceId, clock);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& in = as.operator()<CUpti_ActivityMemset4>();
      return copy(in, memset_kind, in.deviceId, in.deviceId, clock);
    }
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return api_call(as.operator()<CUpti_ActivityAPI>(), driver_domain, clock);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return api_call(as.operator()<CUpti_ActivityAPI>(), runtime_domain, clock);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return marker(as.operator()<CUpti_ActivityMarker2>(), clock);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return correlation(as.operator()<CUpti_ActivityExternalCorrelation>());
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return overhead(as.operator()<CUpti_ActivityOverhead>(), clock);
    case CUPTI_ACTIVITY_KIND_MARKER_DATA:  // colour and payload of a marker, which NVTX passes to the tracer directly
      return {IgnoredActivity{}};
    case graph_trace_kind:
      return {WholeGraph{}};
    default:
      return {UnknownActivity{static_cast<std::uint32_t>(activity.kind)}};
  }
}

}  // namespace ddpprof::record
