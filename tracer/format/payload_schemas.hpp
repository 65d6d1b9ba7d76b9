// The NVTX payload schemas of the vocabulary: the name of each schema, and the name, type and offset of each field.
//
// The worker registers these schemas; ingestion finds a schema and its fields by these names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tracer/format/vocabulary.hpp"

namespace ddpprof::vocabulary {

// Values of NVTX_PAYLOAD_ENTRY_TYPE_INT32, _INT64 and _UINT64 (nvtx3/nvToolsExtPayload.h).
enum class FieldType : std::uint32_t { int32 = 15, int64 = 17, uint64 = 18 };

template <typename T>
constexpr FieldType field_type() {
  if constexpr (std::is_same_v<T, std::int32_t>) return FieldType::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return FieldType::int64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return FieldType::uint64;
}

struct PayloadField {
  const char* name;
  FieldType type;
  std::uint64_t offset_bytes;
};

#define DDPPROF_FIELD(member) \
  static constexpr PayloadField member { #member, field_type < decltype(Payload::member)>(), offsetof(Payload, member) }

struct StepSchema {
  using Payload = StepInfo;
  static constexpr const char* name = "ddpprof.step";
  DDPPROF_FIELD(step);
  DDPPROF_FIELD(kind);
  DDPPROF_FIELD(samples);
  static constexpr std::array fields{step, kind, samples};
};

struct CollectiveSchema {
  using Payload = CollectiveInfo;
  static constexpr const char* name = "ddpprof.collective";
  DDPPROF_FIELD(communicator);
  DDPPROF_FIELD(sequence);
  DDPPROF_FIELD(bytes);
  DDPPROF_FIELD(op);
  DDPPROF_FIELD(bucket);
  static constexpr std::array fields{communicator, sequence, bytes, op, bucket};
};

struct CopySchema {
  using Payload = CopyInfo;
  static constexpr const char* name = "ddpprof.copy";
  DDPPROF_FIELD(bytes);
  DDPPROF_FIELD(replicas);
  DDPPROF_FIELD(reserved);
  static constexpr std::array fields{bytes, replicas, reserved};
};

struct ReplicaSchema {
  using Payload = ReplicaInfo;
  static constexpr const char* name = "ddpprof.replica";
  DDPPROF_FIELD(replica);
  DDPPROF_FIELD(samples);
  static constexpr std::array fields{replica, samples};
};

struct LoadSchema {
  using Payload = LoadInfo;
  static constexpr const char* name = "ddpprof.load";
  DDPPROF_FIELD(batch);
  DDPPROF_FIELD(loader);
  DDPPROF_FIELD(samples);
  static constexpr std::array fields{batch, loader, samples};
};

struct ParameterSchema {  // the mark's message is the parameter's name
  using Payload = ParameterInfo;
  static constexpr const char* name = "ddpprof.parameter";
  DDPPROF_FIELD(index);
  DDPPROF_FIELD(numel);
  DDPPROF_FIELD(bytes);
  static constexpr std::array fields{index, numel, bytes};
};

struct BucketMemberSchema {
  using Payload = BucketMember;
  static constexpr const char* name = "ddpprof.bucket_member";
  DDPPROF_FIELD(generation);
  DDPPROF_FIELD(bucket);
  DDPPROF_FIELD(parameter);
  static constexpr std::array fields{generation, bucket, parameter};
};

struct ClockSchema {
  using Payload = ClockSample;
  static constexpr const char* name = "ddpprof.clock";
  DDPPROF_FIELD(local_ns);
  DDPPROF_FIELD(reference_ns);
  DDPPROF_FIELD(round_trip_ns);
  static constexpr std::array fields{local_ns, reference_ns, round_trip_ns};
};

#undef DDPPROF_FIELD

}  // namespace ddpprof::vocabulary
