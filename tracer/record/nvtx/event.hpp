// NVTX's event attributes and payloads, turned into records.
#pragma once

#define NVTX_NO_IMPL  // types only: a tool must not be its own client
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#undef NVTX_NO_IMPL

#include <cstdint>
#include <string>
#include <string_view>

#include "tracer/format/shard_format.hpp"
#include "tracer/record/shard/names.hpp"
#include "tracer/record/shard/thread_log.hpp"

namespace ddpprof::record {

inline std::uint16_t domain_id(nvtxDomainHandle_t domain) noexcept {
  return domain == nullptr ? std::uint16_t{0} : reinterpret_cast<const Domain*>(domain)->id;
}

struct Event {
  std::uint32_t name_id = 0;
  std::uint32_t category = 0;
  std::uint16_t domain = 0;
  trace::PayloadKind kind = trace::PayloadKind::none;
  std::uint64_t value = 0;  // payload bits, or the recorded schema id
  const void* bytes = nullptr;
  std::size_t byte_count = 0;
};

// What the program passed, with its name interned. Payloads that cannot be recorded leave a `payload_refused`
// diagnostic with the reason; the event itself stays.
Event read_event(ThreadLog& log, std::uint16_t domain, const nvtxEventAttributes_t* attributes);
Event read_payloads(ThreadLog& log, std::uint16_t domain, const nvtxPayloadData_t* payloads, std::size_t count);

// push and mark.
bool write_event(ThreadLog& log, trace::RecordType type, const Event& event, std::int64_t time_ns);
trace::EventRecord record_of(const Event& event);  // without type, size and time

// The text that `attributes` name the event with, none interned; `buffer` holds it where it must be made. Empty where
// there is none, or a payload carries it.
std::string_view message_of(const nvtxEventAttributes_t* attributes, std::string& buffer);

// A schema as the shard keeps it: nested schemas and small fixed arrays are spread into "outer.inner" and "name[i]"
// fields; what has no fixed place or no plain type (text, pointers) keeps its name with type 0.
std::uint64_t register_schema(ThreadLog& log, std::uint16_t domain, const nvtxPayloadSchemaAttr_t& attributes);
std::uint64_t register_enum(ThreadLog& log, std::uint16_t domain, const nvtxPayloadEnumAttr_t& attributes);

}  // namespace ddpprof::record
