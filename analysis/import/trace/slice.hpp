// A piece of device work, as every importer returns it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddpprof::import {

enum class Work : std::uint8_t { compute, communication, copy, set };
inline constexpr int works = 4;

// A device slice of one rank, with times on that rank's clock. Trivially copyable, because millions of them are sorted.
struct Slice {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t launch_ns = 0;  // of the host's call that launched it; start_ns if unknown
  std::uint32_t name = 0;      // number of the reader's name
  std::int32_t device = 0, stream = 0;
  Work work = Work::compute;
  bool operator==(const Slice&) const = default;
};

// The host's call that launched a slice.
struct LaunchCall {
  std::int64_t start_ns = 0;
  std::int64_t external_id = -1;  // of the operation around the launch; negative: not recorded
  std::int64_t tid = 0;
  std::uint32_t launcher = 0;  // number of the call's name if launches_a_kernel(); 0: it does not
};

// Returns true for calls that launch one kernel: cudaLaunchKernelExC, hipModuleLaunchKernel, urEnqueueKernelLaunch. A
// replayed graph may have no kernel, or may be recorded as a whole.
inline bool launches_a_kernel(std::string_view call) {
  for (const std::string_view part : {"LaunchKernel", "launchKernel", "KernelLaunch", "LaunchCooperative"})
    if (call.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace ddpprof::import
