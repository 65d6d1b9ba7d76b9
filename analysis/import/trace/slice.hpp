// One thing that a device did, as every importer gives it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddpprof::import {

enum class Work : std::uint8_t { compute, communication, copy, set };
inline constexpr int works = 4;

// A device's slices of one rank, times on that rank's clock. Trivially copyable: millions of them are sorted.
struct Slice {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t launch_ns = 0;  // the host's call that launched it; start_ns where it is not known
  std::uint32_t name = 0;      // of the reader's names
  std::int32_t device = 0, stream = 0;
  Work work = Work::compute;
};

// NCCL's and RCCL's kernels, by any name they have had: ncclKernel_*, ncclDevKernel_*, ncclFunction_*, mscclKernel_*.
bool is_collective_kernel(std::string_view kernel_name);

}  // namespace ddpprof::import
