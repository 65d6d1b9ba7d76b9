// The shortest NVTX program with an extended payload. It shows how an application gets its structs recorded.
//
// 1. One domain, valid until the process ends.       2. One schema per struct, registered once in that domain:
//    name, entries with type, name and offset, and the struct's size.
// 3. On the event: a nvtxPayloadData_t {schema id, size, address} referred to by the attributes. The tracer
//    copies the bytes before the call returns.
#include <cstddef>
#include <cstdint>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include "tracer/format/vocabulary.hpp"

namespace vocabulary = ddpprof::vocabulary;
using vocabulary::StepInfo;

int main() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA(vocabulary::domain_name);
  nvtxStringHandle_t step_name = nvtxDomainRegisterStringA(domain, vocabulary::step);

  nvtxPayloadSchemaEntry_t fields[3] = {};  // zeroed: flags 0 means a plain value at `offset`
  fields[0].type = NVTX_PAYLOAD_ENTRY_TYPE_INT64, fields[0].name = "step", fields[0].offset = offsetof(StepInfo, step);
  fields[1].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, fields[1].name = "kind", fields[1].offset = offsetof(StepInfo, kind);
  fields[2].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32, fields[2].name = "samples",
  fields[2].offset = offsetof(StepInfo, samples);
  nvtxPayloadSchemaAttr_t schema = {};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = "ddpprof.step";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = fields;
  schema.numEntries = 3;
  schema.payloadStaticSize = sizeof(StepInfo);
  const std::uint64_t schema_id = nvtxPayloadSchemaRegister(domain, &schema);  // 0: no tool is attached

  for (std::int64_t step = 0; step < 10; ++step) {
    const StepInfo info{step, static_cast<std::int32_t>(vocabulary::StepKind::measured), 32};
    const nvtxPayloadData_t data = {schema_id, sizeof info, &info};
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = step_name;
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;  // number of nvtxPayloadData_t
    event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
  return 0;
}
