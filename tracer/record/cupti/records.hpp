// Writes the records of a CUPTI buffer into a thread's log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tracer/record/cupti/api.hpp"
#include "tracer/record/cupti/clock.hpp"
#include "tracer/record/shard/thread_log.hpp"

namespace ddpprof::record {

struct Window {  // CLOCK_MONOTONIC; a time outside the window is from another clock
  std::int64_t earliest_ns, latest_ns;
};

// Counts of the records in a buffer that could not be stored, and how far the buffer could be read.
struct ReadBuffer {
  CUptiResult result = CUPTI_SUCCESS;  // CUPTI_ERROR_MAX_LIMIT_REACHED: read completely; SUCCESS: a record is cut off
  std::size_t read_bytes = 0;
  std::uint64_t unknown = 0, untimed = 0, whole_graphs = 0, other_clock = 0;
  std::uint32_t unknown_kind = 0, untimed_kind = 0;
  std::int64_t heartbeat_ns = 0;  // of the buffer's last heartbeat (CuptiSession); 0: none
};

ReadBuffer write_records(CuptiApi& api, ThreadLog& log, std::span<std::uint8_t> buffer, const CuptiClock& clock,
                         const Window& window);

}  // namespace ddpprof::record
