// Turns one CUPTI activity record into one of the shard's: a pure function.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <variant>

#include "tracer/format/shard_format.hpp"
#include "tracer/record/cupti/clock.hpp"

namespace ddpprof::record {

struct UnknownActivity {
  std::uint32_t kind;
};
struct UntimedActivity {  // CUPTI could not collect its times (0), or its end: it was still running
  std::uint32_t kind;
};
struct IgnoredActivity {};  // known, and nothing of it is kept
struct WholeGraph {};       // a CUDA graph's launch, recorded without the kernels inside
struct Heartbeat {          // the driver call that tells that records still come (CuptiSession)
  std::int64_t time_ns;
};

// Headers carry type, size and time; the caller interns the names and fills in name_id.
struct DecodedActivity {
  std::variant<IgnoredActivity, UnknownActivity, UntimedActivity, WholeGraph, Heartbeat, trace::KernelRecord,
               trace::CopyRecord, trace::ApiRecord, trace::GpuMarkerRecord, trace::CorrelationRecord,
               trace::OverheadRecord>
      record;
  const char* name = nullptr;    // kernel, marker
  const char* domain = nullptr;  // marker
};

// The bytes of a record of this kind that decode() reads: fewer are a record that was cut off.
std::size_t least_bytes(CUpti_ActivityKind kind);

// Reads only fields that have the same place in every CUPTI from 11.0 on, since the process's CUPTI may be older than
// the headers of this build.
DecodedActivity decode(const CUpti_Activity& activity, const CuptiClock& clock);

}  // namespace ddpprof::record
