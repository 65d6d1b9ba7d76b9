#include "tracer/record/nvtx/event.hpp"

#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>

#include "tracer/record/nvtx/payload_types.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {
namespace {

using trace::PayloadKind;
using trace::RecordType;

constexpr std::size_t unknown_size = SIZE_MAX;  // NVTX: the tool has to find out the size
constexpr std::size_t longest_sane_payload_count = 64;

void refuse(ThreadLog& log, Names& names, std::uint64_t count, const std::string& why) {
  write_diagnostic(log, trace::DiagnosticCode::payload_refused, count, names.intern(log, why), monotonic_ns());
}

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint32_t message_id(ThreadLog& log, Names& names, const MessageField& field, const void* payload,
                         std::size_t payload_bytes) {
  if (field.kind == MessageField::Kind::none || field.offset_bytes >= payload_bytes) return 0;
  const char* at = static_cast<const char*>(payload) + field.offset_bytes;
  const std::size_t left = payload_bytes - field.offset_bytes;
  switch (field.kind) {
    case MessageField::Kind::fixed_text:
      return names.intern(log, {at, strnlen(at, std::min<std::size_t>(left, field.length_bytes))});
    case MessageField::Kind::terminated_text:
      return names.intern(log, {at, strnlen(at, left)});
    case MessageField::Kind::text_pointer: {
      if (left < sizeof(const char*)) return 0;
      const char* text = load<const char*>(at);
      return text == nullptr ? 0 : names.intern(log, text);
    }
    case MessageField::Kind::registered: {
      if (left < sizeof(void*)) return 0;
      const auto* string = load<const InternedString*>(at);
      return string == nullptr ? 0 : string->id;
    }
    case MessageField::Kind::none:
      break;
  }
  return 0;
}

constexpr const char* second_payload = "an event has more than one payload: the first is kept";

// Copies one payload into `event`. Returns the reason if the payload cannot be recorded.
std::optional<std::string> take_payload(ThreadLog& log, Names& names, const nvtxPayloadData_t& data, Event& event) {
  if (data.payload == nullptr) return "payload without data";
  const std::uint64_t id = data.schemaId;
  if (id < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {  // a predefined type: one plain value or text
    if (is_text_type(id)) {
      const auto* text = static_cast<const char*>(data.payload);
      const std::size_t length = data.size == unknown_size ? std::strlen(text) : strnlen(text, data.size);
      if (event.name_id == 0) event.name_id = names.intern(log, {text, length});
      return std::nullopt;
    }
    if (id == NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED) return std::nullopt;  // only other payloads refer to it
    const PlainType type = plain_type(id);
    if (type.size_bytes == 0 || type.size_bytes > 8 || (data.size != unknown_size && data.size < type.size_bytes))
      return "payload of NVTX's predefined type " + std::to_string(id) + " is not a number of up to 8 bytes";
    if (event.kind != PayloadKind::none) return second_payload;
    std::tie(event.kind, event.value) = widen(type, data.payload);
    return std::nullopt;
  }
  const Schema* schema = names.find_schema(log, event.domain, id);
  if (schema == nullptr || schema->enum_type != 0)
    return "payload with schema " + std::to_string(id) + ", which was never registered in its domain";
  const std::size_t size = data.size == unknown_size ? schema->payload_bytes : data.size;
  if (size == 0 || size > longest_payload_bytes || size < schema->payload_bytes)
    return "payload of " + std::to_string(size) + " bytes; its schema takes " + std::to_string(schema->payload_bytes) +
           ", the tracer at most " + std::to_string(longest_payload_bytes);
  if (event.name_id == 0) event.name_id = message_id(log, names, schema->message, data.payload, size);
  if (event.kind != PayloadKind::none) return second_payload;
  event.kind = PayloadKind::extended;
  event.value = schema->recorded_id;
  event.bytes = data.payload;
  event.byte_count = size;
  return std::nullopt;
}

void take_payloads(ThreadLog& log, Names& names, const nvtxPayloadData_t* payloads, std::size_t count, Event& event) {
  if (payloads == nullptr || count > longest_sane_payload_count) {
    refuse(log, names, 1, "extended payload without its nvtxPayloadData_t array (reserved0 holds the count)");
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto refusal = take_payload(log, names, payloads[i], event)) [[unlikely]]
      refuse(log, names, 1, *refusal);
  }
}

}  // namespace

trace::EventRecord record_of(const Event& event) {
  trace::EventRecord record{};
  record.header.name_id = event.name_id;
  record.category = event.category;
  record.domain = event.domain;
  record.payload_kind = event.kind;
  record.payload = event.value;
  return record;
}

std::string_view message_of(const nvtxEventAttributes_t* attributes, std::string& buffer) {
  if (attributes == nullptr || attributes->size < sizeof(nvtxEventAttributes_t)) return {};
  const auto& message = attributes->message;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return message.registered == nullptr ? std::string_view()
                                           : reinterpret_cast<const InternedString*>(message.registered)->view();
    case NVTX_MESSAGE_TYPE_ASCII:
      return message.ascii == nullptr ? std::string_view() : std::string_view(message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      if (message.unicode != nullptr) buffer = utf8(message.unicode);
      return buffer;
    default:
      return {};
  }
}

Event read_payloads(ThreadLog& log, std::uint16_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  Event event;
  event.domain = domain;
  take_payloads(log, Recorder::instance().names(), payloads, count, event);
  return event;
}

Event read_event(ThreadLog& log, std::uint16_t domain, const nvtxEventAttributes_t* attributes) {
  Event event;
  event.domain = domain;
  if (attributes == nullptr || attributes->size < sizeof(nvtxEventAttributes_t)) return event;
  Names& names = Recorder::instance().names();
  event.category = attributes->category;
  const auto& message = attributes->message;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (message.registered != nullptr) {
        event.name_id = reinterpret_cast<const InternedString*>(message.registered)->id;
      }
      break;
    case NVTX_MESSAGE_TYPE_ASCII:
      if (message.ascii != nullptr) event.name_id = names.intern(log, message.ascii);
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      event.name_id = names.intern_wide(log, message.unicode);
      break;
    default:
      break;
  }
  const auto& payload = attributes->payload;
  switch (attributes->payloadType) {
    case NVTX_PAYLOAD_UNKNOWN:
      break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      event.kind = PayloadKind::uint64, event.value = payload.ullValue;
      break;
    case NVTX_PAYLOAD_TYPE_INT64:
      event.kind = PayloadKind::int64, event.value = static_cast<std::uint64_t>(payload.llValue);
      break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      event.kind = PayloadKind::float64, event.value = std::bit_cast<std::uint64_t>(payload.dValue);
      break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      event.kind = PayloadKind::uint32, event.value = payload.uiValue;
      break;
    case NVTX_PAYLOAD_TYPE_INT32:
      event.kind = PayloadKind::int32;
      event.value = static_cast<std::uint64_t>(static_cast<std::int64_t>(payload.iValue));
      break;
    case NVTX_PAYLOAD_TYPE_FLOAT:  // stored as a double, so that readers handle one floating type
      event.kind = PayloadKind::float64;
      event.value = std::bit_cast<std::uint64_t>(static_cast<double>(payload.fValue));
      break;
    case NVTX_PAYLOAD_TYPE_EXT:
      take_payloads(log, names, reinterpret_cast<const nvtxPayloadData_t*>(payload.ullValue),
                    static_cast<std::size_t>(std::max(attributes->reserved0, 0)), event);
      break;
    default:
      refuse(log, names, 1, "unknown payload type " + std::to_string(attributes->payloadType));
      break;
  }
  return event;
}

bool write_event(ThreadLog& log, RecordType type, const Event& event, std::int64_t time_ns) {
  trace::EventRecord record = record_of(event);
  record.header.type = type;
  record.header.size_bytes = sizeof record;
  record.header.time_ns = time_ns;
  if (event.kind == PayloadKind::extended) return write_with_tail(log, record, event.bytes, event.byte_count, true);
  return write_with_tail(log, record, nullptr, 0, false);
}

}  // namespace ddpprof::record
