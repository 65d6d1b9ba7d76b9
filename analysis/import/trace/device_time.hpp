// Computes how long a rank's devices computed, communicated and copied in given time windows, in one pass over the
// slices ordered by start.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/import/trace/slice.hpp"

namespace ddpprof::import {

struct Window {
  std::int64_t start_ns = 0, end_ns = 0;
};

// Times in one window, by union and intersection of intervals. Simultaneous slices of one kind count once.
struct DeviceTime {
  std::int64_t compute_ns = 0;                                   // kernels that do not belong to a collective
  std::int64_t communication_ns = 0;                             // kernels of collectives
  std::int64_t memory_ns = 0;                                    // copies and sets
  std::int64_t overlapped_ns = 0;                                // communication at the same time as compute
  std::int64_t busy_ns = 0;                                      // any of the above
  std::int64_t queued_ns = 0;  // none of them, while the next slice had been launched before the devices became idle
  std::int64_t kernels = 0, collective_kernels = 0, copies = 0;  // that begin in the window

  std::int64_t exposed_ns() const { return communication_ns - overlapped_ns; }
};

// Call add() for the slices in order of their start, then finish().
class DeviceTimes {
 public:
  // The windows must be ordered by start and must not overlap.
  explicit DeviceTimes(std::vector<Window> windows);

  void add(const Slice&);
  void finish();

  const std::vector<DeviceTime>& windows() const { return of_windows_; }
  const DeviceTime& whole() const { return whole_; }
  Window extent() const { return extent_; }  // from the first start to the last end; empty without slices

 private:
  static constexpr int kinds = 3;  // compute, communication, memory
  using Masks = std::array<std::int64_t, 1 << kinds>;

  bool was_queued(const Slice&) const;
  void advance(std::int64_t to_ns, bool queued);
  static void resolve(const Masks&, DeviceTime&);

  std::vector<Window> bounds_;
  std::vector<Masks> masks_;
  std::vector<DeviceTime> of_windows_;
  Masks whole_masks_{};
  DeviceTime whole_;
  Window extent_;
  bool begun_ = false;
  std::int64_t now_ns_ = 0;
  std::array<std::int64_t, kinds> busy_until_ns_{};
  std::size_t window_ = 0;  // the first window that ends after now
};

}  // namespace ddpprof::import
