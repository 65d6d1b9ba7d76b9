#include "runner/worker/annotate.hpp"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "tracer/format/payload_schemas.hpp"

namespace ddpprof::worker {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

namespace annotate {
namespace {

struct Registry {
  nvtxDomainHandle_t domain = nullptr;
  std::array<nvtxStringHandle_t, static_cast<std::size_t>(Name::count_)> names{};
  std::uint64_t step = 0, collective = 0, copy = 0, replica = 0, load = 0, parameter = 0, bucket_member = 0, clock = 0;
};
Registry registry;
std::atomic<bool> paused_flag{false};

const char* text(Name name) {
  namespace v = vocabulary;
  switch (name) {
    case Name::setup:
      return v::setup;
    case Name::checkpoint:
      return v::checkpoint;
    case Name::step:
      return v::step;
    case Name::data_wait:
      return v::data_wait;
    case Name::load_batch:
      return v::load_batch;
    case Name::host_to_device:
      return v::host_to_device;
    case Name::buffers:
      return v::buffers;
    case Name::forward:
      return v::forward;
    case Name::backward:
      return v::backward;
    case Name::optimizer:
      return v::optimizer;
    case Name::replicate:
      return v::replicate;
    case Name::scatter:
      return v::scatter;
    case Name::gather:
      return v::gather;
    case Name::reduce:
      return v::reduce;
    case Name::replica_forward:
      return v::replica_forward;
    case Name::replica_backward:
      return v::replica_backward;
    case Name::bucket_member:
      return v::bucket_member;
    case Name::grad_ready:
      return v::grad_ready;
    case Name::collective_launch:
      return v::collective_launch;
    case Name::clock_sample:
      return v::clock_sample;
    case Name::loss:
      return v::loss;
    case Name::learning_rate:
      return v::learning_rate;
    case Name::local_gradient_sqr:
      return v::local_gradient_sqr;
    case Name::gradient_sqr:
      return v::gradient_sqr;
    case Name::collective:
      return v::collective;
    case Name::count_:
      break;
  }
  return "unknown";
}

using vocabulary::FieldType;
static_assert(static_cast<int>(FieldType::int32) == NVTX_PAYLOAD_ENTRY_TYPE_INT32 &&
              static_cast<int>(FieldType::int64) == NVTX_PAYLOAD_ENTRY_TYPE_INT64 &&
              static_cast<int>(FieldType::uint64) == NVTX_PAYLOAD_ENTRY_TYPE_UINT64);

template <typename Schema>
std::uint64_t register_schema() {
  std::array<nvtxPayloadSchemaEntry_t, Schema::fields.size()> entries{};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].type = static_cast<std::uint64_t>(Schema::fields[i].type);
    entries[i].name = Schema::fields[i].name;
    entries[i].offset = Schema::fields[i].offset_bytes;
  }
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  attributes.name = Schema::name;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries.data();
  attributes.numEntries = entries.size();
  attributes.payloadStaticSize = sizeof(typename Schema::Payload);
  return nvtxPayloadSchemaRegister(registry.domain, &attributes);
}

void register_schemas() {
  registry.step = register_schema<vocabulary::StepSchema>();
  registry.collective = register_schema<vocabulary::CollectiveSchema>();
  registry.copy = register_schema<vocabulary::CopySchema>();
  registry.replica = register_schema<vocabulary::ReplicaSchema>();
  registry.load = register_schema<vocabulary::LoadSchema>();
  registry.parameter = register_schema<vocabulary::ParameterSchema>();
  registry.bucket_member = register_schema<vocabulary::BucketMemberSchema>();
  registry.clock = register_schema<vocabulary::ClockSchema>();
}

// The attributes of one event. They point to the payload, which must outlive the NVTX call, so it is in the same
// object.
struct Event {
  nvtxEventAttributes_t attributes{};
  nvtxPayloadData_t data{};

  explicit Event(Name name) {
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = registry.names[static_cast<std::size_t>(name)];
  }
  template <typename Payload>
  Event(Name name, std::uint64_t schema_id, const Payload& payload) : Event(name) {
    data = {schema_id, sizeof(Payload), &payload};
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;  // the payload extension's count of payloads
    attributes.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
  }
};

template <typename Payload>
bool push_with(Name name, std::uint64_t schema_id, const Payload& payload) {
  if (!attached()) return false;
  const Event event(name, schema_id, payload);
  nvtxDomainRangePushEx(registry.domain, &event.attributes);
  return true;
}

template <typename Payload>
void mark_with(Name name, std::uint64_t schema_id, const Payload& payload) {
  if (!attached()) return;
  const Event event(name, schema_id, payload);
  nvtxDomainMarkEx(registry.domain, &event.attributes);
}

void mark_number(Name name, double value) {
  if (!attached()) return;
  Event event(name);
  event.attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.attributes.payload.dValue = value;
  nvtxDomainMarkEx(registry.domain, &event.attributes);
}

}  // namespace

void initialize() {
  if (registry.domain) return;
  registry.domain = nvtxDomainCreateA(vocabulary::domain_name);  // null without a tool
  if (!registry.domain) return;
  for (std::size_t i = 0; i < registry.names.size(); ++i)
    registry.names[i] = nvtxDomainRegisterStringA(registry.domain, text(static_cast<Name>(i)));
  register_schemas();
}

bool attached() { return registry.domain != nullptr && !paused_flag.load(std::memory_order_relaxed); }
void pause(bool paused) { paused_flag.store(paused, std::memory_order_relaxed); }

bool push(Name name) {
  if (!attached()) return false;
  const Event event(name);
  nvtxDomainRangePushEx(registry.domain, &event.attributes);
  return true;
}
bool push(Name name, const vocabulary::StepInfo& payload) { return push_with(name, registry.step, payload); }
bool push(Name name, const vocabulary::CopyInfo& payload) { return push_with(name, registry.copy, payload); }
bool push(Name name, const vocabulary::ReplicaInfo& payload) { return push_with(name, registry.replica, payload); }
bool push(Name name, const vocabulary::LoadInfo& payload) { return push_with(name, registry.load, payload); }
// A loader thread's range may end after a pause has begun: an open range is closed also while paused.
void pop() { nvtxDomainRangePop(registry.domain); }

void parameter(const vocabulary::ParameterInfo& payload, const std::string& name) {
  if (!attached()) return;
  Event event(Name::setup, registry.parameter, payload);
  event.attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.attributes.message.ascii = name.c_str();
  nvtxDomainMarkEx(registry.domain, &event.attributes);
}
void bucket_member(const vocabulary::BucketMember& payload) {
  mark_with(Name::bucket_member, registry.bucket_member, payload);
}
void clock_sample(const vocabulary::ClockSample& payload) { mark_with(Name::clock_sample, registry.clock, payload); }
void collective_launch(const vocabulary::CollectiveInfo& payload) {
  mark_with(Name::collective_launch, registry.collective, payload);
}

void grad_ready(std::int64_t parameter_index) {
  if (!attached()) return;
  Event event(Name::grad_ready);
  event.attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  event.attributes.payload.llValue = parameter_index;
  nvtxDomainMarkEx(registry.domain, &event.attributes);
}

void loss(double value) { mark_number(Name::loss, value); }
void learning_rate(double value) { mark_number(Name::learning_rate, value); }
void gradient_norms(double local_sqr, double whole_sqr) {
  mark_number(Name::local_gradient_sqr, local_sqr);
  mark_number(Name::gradient_sqr, whole_sqr);
}

std::uint64_t collective_begin(const vocabulary::CollectiveInfo& payload) {
  if (!attached()) return 0;
  const Event event(Name::collective, registry.collective, payload);
  return nvtxDomainRangeStartEx(registry.domain, &event.attributes);
}
void collective_end(std::uint64_t range) {
  if (attached() && range != 0) nvtxDomainRangeEnd(registry.domain, range);
}

void name_thread(const char* name) {
  pthread_setname_np(pthread_self(), name);
  if (attached()) nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), name);
}

}  // namespace annotate
}  // namespace ddpprof::worker
