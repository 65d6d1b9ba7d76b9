#include "analysis/import/trace/device_time.hpp"

#include <algorithm>
#include <utility>

namespace ddpprof::import {
namespace {

// The time from the host's call to the start of a kernel on an idle device, at most: with a profiler some 10 us.
constexpr std::int64_t longest_launch_ns = 20'000;

int kind_of(Work work) {
  switch (work) {
    case Work::compute:
      return 0;
    case Work::communication:
      return 1;
    case Work::copy:
    case Work::set:
      break;
  }
  return 2;
}

}  // namespace

DeviceTimes::DeviceTimes(std::vector<Window> windows)
    : bounds_(std::move(windows)), masks_(bounds_.size()), of_windows_(bounds_.size()) {}

void DeviceTimes::add(const Slice& slice) {
  if (!begun_) {
    begun_ = true;
    now_ns_ = slice.start_ns;
    busy_until_ns_.fill(slice.start_ns);
    extent_ = {slice.start_ns, slice.end_ns};
  }
  advance(slice.start_ns, was_queued(slice));
  extent_.end_ns = std::max(extent_.end_ns, slice.end_ns);
  std::int64_t& until_ns = busy_until_ns_[static_cast<std::size_t>(kind_of(slice.work))];
  until_ns = std::max(until_ns, slice.end_ns);
  const auto count = [&](DeviceTime& time) {
    if (slice.work == Work::compute) ++time.kernels;
    if (slice.work == Work::communication) ++time.collective_kernels;
    if (kind_of(slice.work) == 2) ++time.copies;
  };
  count(whole_);
  if (window_ < bounds_.size() && bounds_[window_].start_ns <= slice.start_ns) count(of_windows_[window_]);
}

// True if the slice was launched before the devices became idle: then the time until it starts is the device's own.
bool DeviceTimes::was_queued(const Slice& slice) const {
  const std::int64_t idle_from_ns = *std::ranges::max_element(busy_until_ns_);
  return slice.launch_ns > 0 && slice.launch_ns < slice.start_ns && slice.launch_ns + longest_launch_ns <= idle_from_ns;
}

// No slice begins between now and to_ns. So each kind is busy from now to its latest end so far, and idle afterwards.
void DeviceTimes::advance(std::int64_t to_ns, bool queued) {
  while (now_ns_ < to_ns) {
    while (window_ < bounds_.size() && bounds_[window_].end_ns <= now_ns_) ++window_;
    std::int64_t next_ns = to_ns;
    bool in_window = false;
    if (window_ < bounds_.size()) {
      in_window = bounds_[window_].start_ns <= now_ns_;
      next_ns = std::min(next_ns, in_window ? bounds_[window_].end_ns : bounds_[window_].start_ns);
    }
    std::size_t mask = 0;
    for (std::size_t kind = 0; kind < kinds; ++kind)
      if (busy_until_ns_[kind] > now_ns_) {
        mask |= std::size_t{1} << kind;
        next_ns = std::min(next_ns, busy_until_ns_[kind]);
      }
    if (mask != 0 || queued) {
      whole_masks_[mask] += next_ns - now_ns_;
      if (in_window) masks_[window_][mask] += next_ns - now_ns_;
    }
    now_ns_ = next_ns;
  }
  while (window_ < bounds_.size() && bounds_[window_].end_ns <= now_ns_) ++window_;
}

void DeviceTimes::finish() {
  if (begun_) advance(*std::ranges::max_element(busy_until_ns_), false);
  resolve(whole_masks_, whole_);
  for (std::size_t i = 0; i < masks_.size(); ++i) resolve(masks_[i], of_windows_[i]);
}

void DeviceTimes::resolve(const Masks& masks, DeviceTime& time) {
  time.queued_ns = masks[0];
  for (std::size_t mask = 1; mask < masks.size(); ++mask) {
    time.busy_ns += masks[mask];
    if ((mask & 1) != 0) time.compute_ns += masks[mask];
    if ((mask & 2) != 0) time.communication_ns += masks[mask];
    if ((mask & 4) != 0) time.memory_ns += masks[mask];
    if ((mask & 3) == 3) time.overlapped_ns += masks[mask];
  }
}

}  // namespace ddpprof::import
