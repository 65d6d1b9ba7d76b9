// The control page: the file in the shards' folder with which `ddpprof record` limits what is recorded of a job. Every
// traced process maps it.
//
// Only `ddpprof record` writes the page. The processes of the job read it at their events. Without the file everything
// is recorded. All times are CLOCK_MONOTONIC nanoseconds of the host whose boot_id is in the page.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/format/step_name.hpp"

namespace ddpprof::trace {

inline constexpr const char* control_page_name = "bounds.ddpc";
inline constexpr char control_magic[8] = {'D', 'D', 'P', 'C', 'T', 'R', 'L', '1'};
inline constexpr std::uint32_t control_version = 1;
inline constexpr std::size_t control_page_bytes = 16384;
inline constexpr std::uint32_t most_toggles = 1024;

// A process reads the page again at its first event after this time.
inline constexpr std::int64_t control_poll_ns = 1'000'000;
// A toggle is set at least this far ahead, so that every process reads it before it takes effect.
inline constexpr std::int64_t control_notice_ns = 10'000'000;

inline constexpr std::int64_t no_first_step = -1;
inline constexpr std::int64_t no_last_step = INT64_MAX;

struct ControlPage {
  char magic[8];
  std::uint32_t version;
  std::uint32_t page_bytes;
  char boot_id[40];             // /proc/sys/kernel/random/boot_id of the host of `ddpprof record`
  std::uint32_t watches_steps;  // 1: only steps first_step to last_step are recorded
  std::uint32_t may_change;     // 1: toggles may be added while the job runs
  std::int64_t first_step;      // no_first_step: from the start of the process
  std::int64_t last_step;       // no_last_step: to the end of the process
  std::int64_t step_limit_ns;   // with steps: longest time that a process records; 0: no limit
  char
      step_range[vocabulary::longest_step_range + 8];  // what steps are called; empty: by vocabulary::step_name's rules
  // Recording is on from toggle 0 to toggle 1, from toggle 2 to toggle 3, and so on. Times ascend. A toggle in the
  // future may be moved if it is at least control_notice_ns away. A toggle in the past never changes.
  std::atomic<std::uint32_t> toggle_count;
  std::uint32_t reserved;
  std::atomic<std::int64_t> toggles_ns[most_toggles];
};
static_assert(sizeof(ControlPage) <= control_page_bytes);
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace ddpprof::trace
