// The current activity of a rank: a small memory-mapped file that the worker writes and the launcher polls.
//
// Stores are relaxed atomics (a few ns), so a worker updates the page at every phase. The file remains after a rank was
// killed, so that the launcher can report the rank's last activity. Times are CLOCK_MONOTONIC of one host.
#pragma once

#include <atomic>
#include <cstdint>

namespace ddpprof::launcher {

enum class Activity : std::int32_t {
  starting = 0,  // the process exists; LibTorch is loading
  rendezvous,    // waiting for the other ranks
  building_model,
  broadcasting,  // parameters from rank 0
  data_wait,
  forward,
  backward,  // all-reduce included
  optimizer,
  unwrapped_step,  // a step without the DDP wrapper
  all_reduce,      // bench-comm, or the decision when to stop
  clock_exchange,
  checkpoint,
  finishing,
  done,
};

constexpr const char* to_string(Activity activity) {
  switch (activity) {
    case Activity::starting:
      return "starting";
    case Activity::rendezvous:
      return "waiting for the other ranks (rendezvous)";
    case Activity::building_model:
      return "building the model";
    case Activity::broadcasting:
      return "broadcasting parameters";
    case Activity::data_wait:
      return "waiting for data";
    case Activity::forward:
      return "forward";
    case Activity::backward:
      return "backward and all-reduce";
    case Activity::optimizer:
      return "optimizer";
    case Activity::unwrapped_step:
      return "a step without DDP";
    case Activity::all_reduce:
      return "all-reduce";
    case Activity::clock_exchange:
      return "clock exchange";
    case Activity::checkpoint:
      return "writing a checkpoint";
    case Activity::finishing:
      return "finishing";
    case Activity::done:
      return "done";
  }
  return "unknown";
}

inline constexpr const char* status_file_variable = "DDPPROF_STATUS_FILE";

struct StatusPage {                    // at most one page; zero-filled by the launcher before the rank starts
  std::atomic<std::int32_t> activity;  // Activity
  std::atomic<std::int32_t> reserved;
  std::atomic<std::int64_t> step;           // current step, -1 before the first; bench-comm: the iteration
  std::atomic<std::int64_t> steps_planned;  // upper limit
  std::atomic<std::int64_t> updated_ns;     // CLOCK_MONOTONIC of the last change; 0: never
};
inline constexpr std::int64_t status_page_bytes = 4096;
static_assert(sizeof(StatusPage) <= status_page_bytes);

}  // namespace ddpprof::launcher
