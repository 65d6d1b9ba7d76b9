// The functions of NVTX's payload extension.
#include <atomic>

#include "tracer/record/nvtx/callbacks.hpp"
#include "tracer/record/nvtx/range.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {
namespace {

using trace::RecordType;

std::uint64_t NVTX_API schema_register(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* attributes) {
  const Entry entry;
  return entry && attributes != nullptr ? register_schema(*entry, domain_id(domain), *attributes) : 0;
}

std::uint64_t NVTX_API enum_register(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t* attributes) {
  const Entry entry;
  return entry && attributes != nullptr ? register_enum(*entry, domain_id(domain), *attributes) : 0;
}

void NVTX_API mark_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  const std::int64_t time_ns = monotonic_ns();
  const Entry entry;
  if (entry && keeps_mark(*entry, time_ns))
    write_event(*entry, RecordType::mark, read_payloads(*entry, domain_id(domain), payloads, count), time_ns);
}

std::string_view name_in(ThreadLog& log, nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads,
                         std::size_t count) {
  return Recorder::instance().names().text(read_payloads(log, domain_id(domain), payloads, count).name_id);
}

int NVTX_API push_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  const Entry entry;
  if (!entry) return NVTX_NO_PUSH_POP_TRACKING;
  return begin_push(
      *entry, domain_id(domain), [&] { return read_payloads(*entry, domain_id(domain), payloads, count); },
      [&](std::string&) { return name_in(*entry, domain, payloads, count); });
}

int NVTX_API pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  const std::int64_t time_ns = monotonic_ns();
  const Entry entry;
  return entry ? write_pop(*entry, domain_id(domain), time_ns, {payloads, count}) : NVTX_NO_PUSH_POP_TRACKING;
}

nvtxRangeId_t NVTX_API start_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  const Entry entry;
  if (!entry) return 0;
  return begin_start(
      *entry, [&] { return read_payloads(*entry, domain_id(domain), payloads, count); },
      [&](std::string&) { return name_in(*entry, domain, payloads, count); });
}

void NVTX_API end_payload(nvtxDomainHandle_t domain, nvtxRangeId_t id, const nvtxPayloadData_t* payloads,
                          std::size_t count) {
  const std::int64_t time_ns = monotonic_ns();
  const Entry entry;
  if (entry) write_range_end(*entry, domain_id(domain), id, time_ns, {payloads, count});
}

std::uint8_t NVTX_API domain_is_enabled(nvtxDomainHandle_t) { return 1; }

std::uint64_t NVTX_API scope_register(nvtxDomainHandle_t, const nvtxScopeAttr_t* attributes) {
  static std::atomic<std::uint64_t> next{NVTX_SCOPE_ID_DYNAMIC_START};
  if (attributes != nullptr && attributes->scopeId != NVTX_SCOPE_NONE) return attributes->scopeId;
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::int64_t NVTX_API timestamp_get() { return monotonic_ns(); }

std::uint64_t NVTX_API time_domain_register(nvtxDomainHandle_t, const nvtxTimeDomainAttr_t* attributes) {
  static std::atomic<std::uint64_t> next{NVTX_TIME_DOMAIN_ID_DYNAMIC_START};
  if (attributes != nullptr && attributes->timeDomainId != 0) return attributes->timeDomainId;
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Deferred events carry times of clocks that the shard cannot convert. They are refused with a diagnostic.
void refuse_deferred(std::uint64_t count) {
  const Entry entry;
  if (!entry) return;
  const std::uint32_t why = Recorder::instance().names().intern(*entry, "deferred NVTX events are not recorded");
  write_diagnostic(*entry, trace::DiagnosticCode::payload_refused, count, why, monotonic_ns());
}
void NVTX_API event_submit(nvtxDomainHandle_t, const nvtxPayloadData_t*, std::size_t) { refuse_deferred(1); }
void NVTX_API event_batch_submit(nvtxDomainHandle_t domain, const nvtxEventBatch_t* batch) {
  std::uint64_t count = 1;
  if (batch != nullptr) {
    const Entry entry;
    const Schema* schema =
        entry ? Recorder::instance().names().find_schema(*entry, domain_id(domain), batch->eventSchemaId) : nullptr;
    if (schema != nullptr && schema->payload_bytes != 0) count = batch->size / schema->payload_bytes;
  }
  refuse_deferred(count);
}

}  // namespace

void fill_extension(nvtxExtModuleInfo_t& module) {
  if (module.moduleId != NVTX_EXT_PAYLOAD_MODULEID || module.segmentsCount == 0 || module.segments == nullptr) return;
  const nvtxExtModuleSegment_t& segment = module.segments[0];
  const auto set = [&](std::size_t slot, auto* function) {
    if (slot < segment.slotCount) segment.functionSlots[slot] = reinterpret_cast<std::intptr_t>(function);
  };
  set(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, schema_register);
  set(NVTX3EXT_CBID_nvtxPayloadEnumRegister, enum_register);
  set(NVTX3EXT_CBID_nvtxMarkPayload, mark_payload);
  set(NVTX3EXT_CBID_nvtxRangePushPayload, push_payload);
  set(NVTX3EXT_CBID_nvtxRangePopPayload, pop_payload);
  set(NVTX3EXT_CBID_nvtxRangeStartPayload, start_payload);
  set(NVTX3EXT_CBID_nvtxRangeEndPayload, end_payload);
  set(NVTX3EXT_CBID_nvtxDomainIsEnabled, domain_is_enabled);
  set(NVTX3EXT_CBID_nvtxScopeRegister, scope_register);
  set(NVTX3EXT_CBID_nvtxTimestampGet, timestamp_get);
  set(NVTX3EXT_CBID_nvtxTimeDomainRegister, time_domain_register);
  set(NVTX3EXT_CBID_nvtxEventSubmit, event_submit);
  set(NVTX3EXT_CBID_nvtxEventBatchSubmit, event_batch_submit);
}

}  // namespace ddpprof::record
