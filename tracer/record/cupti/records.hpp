// Writes the records of one of CUPTI's buffers into a thread's log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tracer/record/cupti/api.hpp"
#include "tracer/record/cupti/clock.hpp"
#include "tracer/record/shard/thread_log.hpp"

namespace ddpprof::record {

struct Window {  // CLOCK_MONOTONIC; a time outside of it is another clock's
  std::int64_t earliest_ns, latest_ns;
};

// What a buffer held and could not be kept, and how far it could be read.
struct ReadBuffer {
  CUptiResult result = CUPTI_SUCCESS;  // CUPTI_ERROR_MAX_LIMIT_REACHED: read to its end; SUCCESS: a record is cut off
  std::size_t read_bytes = 0;
  std::uint64_t unknown = 0, untimed = 0, whole_graphs = 0, other_clock = 0;
  std::uint32_t unknown_kind = 0, untimed_kind = 0;
  std::int64_t heartbeat_ns = 0;  // of the last heartbeat (CuptiSession) in it; 0: none
};

ReadBuffer write_records(CuptiApi& api, ThreadLog& log, std::span<std::uint8_t> buffer, const CuptiClock& clock,
                         const Window& window);

}  // namespace ddpprof::record
