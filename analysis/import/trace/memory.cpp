#include "analysis/import/trace/memory.hpp"

#include <algorithm>
#include <map>

namespace ddpprof::import {

std::vector<DeviceMemory> memory_of(const RankTrace& rank, const std::vector<HostStep>& steps) {
  const std::int64_t from_ns = steps.empty() ? INT64_MIN : steps.front().time.start_ns;
  const std::int64_t until_ns = steps.empty() ? INT64_MAX : steps.back().time.end_ns;
  std::map<std::int64_t, DeviceMemory> devices;
  rank.memory.for_each([&](const MemoryMark& mark) {
    if (mark.at_ns > until_ns) return;
    DeviceMemory& device = devices[mark.device];
    device.held_bytes = mark.allocated_bytes;
    device.peak_bytes = mark.at_ns < from_ns ? mark.allocated_bytes : std::max(device.peak_bytes, mark.allocated_bytes);
  });
  std::vector<DeviceMemory> result;
  for (const auto& [number, device] : devices) result.push_back(device);
  // The rank's own device is the fullest. Other devices hold only what the rank sent there.
  const auto own = std::max_element(result.begin(), result.end(), [](const DeviceMemory& a, const DeviceMemory& b) {
    return a.peak_bytes < b.peak_bytes;
  });
  if (own != result.end()) std::rotate(result.begin(), own, std::next(own));
  return result;
}

}  // namespace ddpprof::import
