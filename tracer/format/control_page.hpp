// The page through which `ddpprof record` says what of a job is kept: a file in the folder of the shards, mapped by
// every traced process.
//
// Written by one program only, read by the processes of the job at their events. A folder without the file: everything
// is recorded. All times are CLOCK_MONOTONIC nanoseconds of the host whose boot_id the page bears.
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

// A process looks at the page at its first event after this time at the latest …
inline constexpr std::int64_t control_poll_ns = 1'000'000;
// … and an toggle is set so far ahead that all of them see it before it comes.
inline constexpr std::int64_t control_notice_ns = 10'000'000;

inline constexpr std::int64_t no_first_step = -1;
inline constexpr std::int64_t no_last_step = INT64_MAX;

struct ControlPage {
  char magic[8];
  std::uint32_t version;
  std::uint32_t page_bytes;
  char boot_id[40];             // /proc/sys/kernel/random/boot_id of whoever sets the toggles
  std::uint32_t watches_steps;  // 1: only steps first_step to last_step are kept
  std::uint32_t may_change;     // 1: toggles may be added while the job runs
  std::int64_t first_step;      // no_first_step: from the process's beginning
  std::int64_t last_step;       // no_last_step: to its end
  std::int64_t step_limit_ns;   // with steps: so long after a process began to record it stops; 0: no limit
  char
      step_range[vocabulary::longest_step_range + 8];  // what steps are called; empty: by vocabulary::step_name's rules
  // Recording is on from toggle 0 to toggle 1, from toggle 2 to toggle 3, …: ascending. An toggle that is still to come
  // may be moved, with control_notice_ns to spare; one that has passed never changes.
  std::atomic<std::uint32_t> toggle_count;
  std::uint32_t reserved;
  std::atomic<std::int64_t> toggles_ns[most_toggles];
};
static_assert(sizeof(ControlPage) <= control_page_bytes);
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace ddpprof::trace
