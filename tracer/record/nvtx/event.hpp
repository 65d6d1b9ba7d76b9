// Converts NVTX's event attributes and payloads into records.
#pragma once

#define NVTX_NO_IMPL  // types only: a tool must not call NVTX itself
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

// Return the event that the program passed, its name interned. A payload that cannot be recorded leaves a
// `payload_refused` diagnostic with the reason; the event is recorded without it.
Event read_event(ThreadLog& log, std::uint16_t domain, const nvtxEventAttributes_t* attributes);
Event read_payloads(ThreadLog& log, std::uint16_t domain, const nvtxPayloadData_t* payloads, std::size_t count);

// Writes a push or a mark.
bool write_event(ThreadLog& log, trace::RecordType type, const Event& event, std::int64_t time_ns);
trace::EventRecord record_of(const Event& event);  // type, size and time are not set

// Returns the event's message without interning it; `buffer` holds it if it must be converted. Returns an empty text if
// the event has no message, or if a payload carries it.
std::string_view message_of(const nvtxEventAttributes_t* attributes, std::string& buffer);

// Register a schema and return its id. In the shard nested schemas and small fixed arrays are flattened into fields
// "outer.inner" and "name[i]". A field without a fixed place or a plain type (text, pointers) keeps its name and gets
// type 0.
std::uint64_t register_schema(ThreadLog& log, std::uint16_t domain, const nvtxPayloadSchemaAttr_t& attributes);
std::uint64_t register_enum(ThreadLog& log, std::uint16_t domain, const nvtxPayloadEnumAttr_t& attributes);

}  // namespace ddpprof::record
