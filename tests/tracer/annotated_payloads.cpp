#include "tests/tracer/annotated_payloads.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

namespace ddpprof::test {
namespace {

using Entries = std::vector<nvtxPayloadSchemaEntry_t>;

nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::uint64_t offset = 0, std::uint64_t flags = 0,
                               std::uint64_t detail = 0) {
  nvtxPayloadSchemaEntry_t out = {};
  out.flags = flags, out.type = type, out.name = name, out.arrayOrUnionDetail = detail, out.offset = offset;
  return out;
}

std::uint64_t register_schema(nvtxDomainHandle_t domain, const char* name, const Entries& entries, std::size_t bytes,
                              std::uint64_t id = 0, std::uint64_t type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC) {
  nvtxPayloadSchemaAttr_t schema = {};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  schema.name = name;
  schema.type = type;
  schema.entries = entries.data();
  schema.numEntries = entries.size();
  if (bytes != 0) schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE, schema.payloadStaticSize = bytes;
  if (id != 0) schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID, schema.schemaId = id;
  return nvtxPayloadSchemaRegister(domain, &schema);
}

nvtxEventAttributes_t with_payload(const char* name, const nvtxPayloadData_t* data, int count = 1) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = count;
  event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(data);
  return event;
}

template <typename T>
void mark(nvtxDomainHandle_t domain, const char* name, std::uint64_t schema, const T& value) {
  const nvtxPayloadData_t data = {schema, sizeof value, &value};
  const nvtxEventAttributes_t event = with_payload(name, &data);
  nvtxDomainMarkEx(domain, &event);
}

constexpr auto i64 = NVTX_PAYLOAD_ENTRY_TYPE_INT64, u64 = NVTX_PAYLOAD_ENTRY_TYPE_UINT64,
               i32 = NVTX_PAYLOAD_ENTRY_TYPE_INT32;

void annotate_vocabulary(nvtxDomainHandle_t domain) {
  using namespace vocabulary;
#define FIELD(type, Struct, field) entry(type, #field, offsetof(Struct, field))
  const std::uint64_t step = register_schema(
      domain, "ddpprof.step", {FIELD(i64, StepInfo, step), FIELD(i32, StepInfo, kind), FIELD(i32, StepInfo, samples)},
      sizeof(StepInfo));
  const std::uint64_t collective = register_schema(
      domain, "ddpprof.collective",
      {FIELD(u64, CollectiveInfo, communicator), FIELD(u64, CollectiveInfo, sequence),
       FIELD(i64, CollectiveInfo, bytes), FIELD(i32, CollectiveInfo, op), FIELD(i32, CollectiveInfo, bucket)},
      sizeof(CollectiveInfo));
  const std::uint64_t copy = register_schema(
      domain, "ddpprof.copy", {FIELD(i64, CopyInfo, bytes), FIELD(i32, CopyInfo, replicas)}, sizeof(CopyInfo));
  const std::uint64_t replica =
      register_schema(domain, "ddpprof.replica", {FIELD(i32, ReplicaInfo, replica), FIELD(i32, ReplicaInfo, samples)},
                      sizeof(ReplicaInfo));
  const std::uint64_t parameter = register_schema(
      domain, "ddpprof.parameter",
      {FIELD(i64, ParameterInfo, index), FIELD(i64, ParameterInfo, numel), FIELD(i64, ParameterInfo, bytes)},
      sizeof(ParameterInfo));
  const std::uint64_t member = register_schema(
      domain, "ddpprof.bucket_member",
      {FIELD(i32, BucketMember, generation), FIELD(i32, BucketMember, bucket), FIELD(i64, BucketMember, parameter)},
      sizeof(BucketMember));
  const std::uint64_t clock = register_schema(domain, "ddpprof.clock",
                                              {FIELD(i64, ClockSample, local_ns), FIELD(i64, ClockSample, reference_ns),
                                               FIELD(i64, ClockSample, round_trip_ns)},
                                              sizeof(ClockSample));
#undef FIELD
  nvtxPayloadData_t data = {step, sizeof expected_step, &expected_step};
  nvtxEventAttributes_t event = with_payload("step", &data);
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  data = {collective, sizeof expected_collective, &expected_collective};
  event = with_payload("collective", &data);
  nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));
  mark(domain, "replicate", copy, expected_copy);
  mark(domain, "replica_forward", replica, expected_replica);
  mark(domain, "fc1.weight", parameter, expected_parameter);
  mark(domain, "bucket_member", member, expected_member);
  mark(domain, "clock_sample", clock, expected_clock);
}

// A union inside a struct, and schemas that double at every level: wider and deeper than those of real programs.
void annotate_unions_and_explosions(nvtxDomainHandle_t domain) {
  const std::uint64_t number = register_schema(
      domain, "union", {entry(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "real"), entry(i64, "integer"), entry(i32, "short")}, 0,
      0, NVTX_PAYLOAD_SCHEMA_TYPE_UNION);
  const std::uint64_t holder =
      register_schema(domain, "with a union", {entry(i32, "kind"), entry(number, "value"), entry(i32, "after")}, 0);
  mark(domain, "with a union", holder, expected_choice);
  std::uint64_t inner = register_schema(domain, "level 0", {entry(i32, "x")}, 0);
  const std::string long_name(100, 'n');
  for (int level = 1; level <= 60; ++level) {
    const std::string name = "level " + std::to_string(level);
    inner = register_schema(domain, name.c_str(),
                            {entry(inner, long_name.c_str(), 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 64),
                             entry(inner, "b", 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 64)},
                            0);
  }
}

}  // namespace

int annotate_payloads() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA(vocabulary::domain_name);
  annotate_vocabulary(domain);
  if (nvtxDomainIsEnabled(domain) == 0) return 1;

  const std::uint64_t inner = register_schema(
      domain, "inner", {entry(NVTX_PAYLOAD_ENTRY_TYPE_INT16, "a"), entry(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "b")}, 0);
  const std::uint64_t outer =
      register_schema(domain, "outer",
                      {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "flag"), entry(inner, "inner"),
                       entry(i32, "array", 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 3), entry(i64, "last")},
                      0);
  mark(domain, "nested", outer, expected_outer);
  annotate_unions_and_explosions(domain);

  // The program chooses the same id in two domains: these are two schemas.
  nvtxDomainHandle_t other = nvtxDomainCreateA("other");
  constexpr std::uint64_t chosen = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
  if (register_schema(domain, "chosen here", {entry(i64, "x")}, 8, chosen) != chosen) return 2;
  if (register_schema(other, "chosen there", {entry(i64, "y")}, 8, chosen) != chosen) return 3;
  mark(domain, "with a chosen id", chosen, std::int64_t{1});
  mark(other, "with a chosen id", chosen, std::int64_t{2});

  nvtxPayloadEnum_t values[1] = {{"one", 1, 0}};
  nvtxPayloadEnumAttr_t enumeration = {};
  enumeration.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                          NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
  enumeration.entries = values, enumeration.numEntries = 1, enumeration.sizeOfEnum = 2;
  const std::uint64_t kind = nvtxPayloadEnumRegister(domain, &enumeration);
  register_schema(domain, "with an enum", {entry(kind, "kind"), entry(NVTX_PAYLOAD_ENTRY_TYPE_INT8, "next")}, 0);

  // The event functions of the extension. The message is a field of the payload, or a separate payload.
  const std::uint64_t carrier =
      register_schema(domain, "carrier",
                      {entry(u64, "value"), entry(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", offsetof(Carrier, text),
                                                  NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, sizeof(Carrier::text))},
                      sizeof(Carrier));
  nvtxPayloadData_t data = {carrier, sizeof expected_carrier, &expected_carrier};
  nvtxMarkPayload(domain, &data, 1);
  if (nvtxRangePushPayload(domain, &data, 1) != 0) return 4;
  const double result = 0.125;
  nvtxPayloadData_t end_data = {NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, sizeof result, &result};
  if (nvtxRangePopPayload(domain, &end_data, 1) != 0) return 5;
  const char* text = "a text payload";
  const std::int16_t small = -7;
  nvtxPayloadData_t two[2] = {{NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, text},
                              {NVTX_PAYLOAD_ENTRY_TYPE_INT16, sizeof small, &small}};
  const nvtxRangeId_t id = nvtxRangeStartPayload(domain, two, 2);
  nvtxRangeEndPayload(domain, id, nullptr, 0);

  // Payloads that cannot be recorded: unknown schema, too short, too long, a second payload.
  mark(domain, "unknown schema", 0x7777777777, std::int64_t{3});
  mark(domain, "short", carrier, std::int64_t{3});
  const std::vector<char> large(100'000);
  const nvtxPayloadData_t long_data = {carrier, large.size(), large.data()};
  nvtxEventAttributes_t event = with_payload("long", &long_data);
  nvtxDomainMarkEx(domain, &event);
  const nvtxPayloadData_t twice[2] = {{carrier, sizeof expected_carrier, &expected_carrier},
                                      {carrier, sizeof expected_carrier, &expected_carrier}};
  event = with_payload("twice", twice, 2);
  nvtxDomainMarkEx(domain, &event);
  return 0;
}

}  // namespace ddpprof::test
