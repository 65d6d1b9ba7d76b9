// Converts one CUPTI activity record into a record of the shard. Pure.
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
struct UntimedActivity {  // CUPTI has no times (0) for it, or no end because it still runs
  std::uint32_t kind;
};
struct IgnoredActivity {};  // a known kind that is not recorded
struct WholeGraph {};       // the launch of a CUDA graph, recorded without the kernels inside
struct Heartbeat {          // the driver call that shows that CUPTI still returns records (CuptiSession)
  std::int64_t time_ns;
};

// The record's header has type, size and time. The caller interns the names and sets name_id.
struct DecodedActivity {
  std::variant<IgnoredActivity, UnknownActivity, UntimedActivity, WholeGraph, Heartbeat, trace::KernelRecord,
               trace::CopyRecord, trace::ApiRecord, trace::GpuMarkerRecord, trace::CorrelationRecord,
               trace::OverheadRecord>
      record;
  const char* name = nullptr;    // kernel, marker
  const char* domain = nullptr;  // marker
};

// Returns how many bytes of a record of this kind decode() reads. A record with fewer bytes is cut off.
std::size_t least_bytes(CUpti_ActivityKind kind);

// Reads only fields that have the same place in every CUPTI from 11.0 on, as the process's CUPTI may be older than the
// headers of this build.
DecodedActivity decode(const CUpti_Activity& activity, const CuptiClock& clock);

}  // namespace ddpprof::record
