// Stores all slices of one rank's devices in bounded memory: joined with the host's calls that launched them, checked
// against their neighbours, and readable in order of start any number of times.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/import/sort/external_sorter.hpp"
#include "analysis/import/trace/slice.hpp"

namespace ddpprof::import {

class CollectiveLaunches;

// Totals of all sound slices with one name and kind.
struct NameTotals {
  std::int64_t count = 0, total_ns = 0, minimum_ns = 0, maximum_ns = 0;
};

// Impossible durations. They are cut before sums are computed.
struct AbsurdSlices {
  std::int64_t count = 0;
  std::int64_t cut_ns = 0;       // total time removed
  std::uint32_t first_name = 0;  // of the slice that was cut most
  std::int64_t first_start_ns = 0, first_duration_ns = 0;
};

class SliceStore {
 public:
  // A slice is absurd only if it lasts this many times its name's median duration.
  static constexpr double absurd_factor = 100.0;
  // For names with fewer slices than this, the median of all slices is used.
  static constexpr std::int64_t few = 8;

  explicit SliceStore(SortOptions);

  void add(const Slice&, std::optional<std::int64_t> correlation);
  // Adds a host call that may have launched slices with this correlation.
  void add_call(std::int64_t correlation, const LaunchCall&);
  // Sets the time of the host's last event. A profiler waits for the devices when it stops, so no device work ends
  // later.
  void set_host_end(std::int64_t end_ns) { host_end_ns_ = end_ns; }
  // Slices that begin outside of [start_ns, end_ns] are left out and counted, if other slices begin inside.
  void set_bounds(std::int64_t start_ns, std::int64_t end_ns) { bounds_ = {start_ns, end_ns}; }
  // Call once, after the last add() and before reading. Kernels that a collective call launched become communication.
  // `launches` may be null.
  void finish(const CollectiveLaunches* launches = nullptr);

  std::int64_t size() const { return static_cast<std::int64_t>(slices_.size()); }
  std::int64_t without_call() const { return without_call_; }
  bool any_lost_launch() const { return lost_.size() > 0; }
  // The times of launches whose kernel is not recorded, in order. Calls whose name launches no recorded kernel at all
  // are left out: they may be inner records of other calls.
  template <class Function>
  void for_each_lost_launch(Function&& function) const {
    lost_.for_each([&](const LaunchCall& launch) {
      if (joined_launchers_.contains(launch.launcher)) function(launch.start_ns);
    });
  }
  // Copies of slices with the same correlation, which are left out.
  std::int64_t repeated() const { return repeated_; }
  std::int64_t out_of_bounds() const { return out_of_bounds_; }
  std::optional<std::pair<std::int64_t, std::int64_t>> bounds() const { return bounds_; }
  bool within_bounds(std::int64_t start_ns) const {
    return !bounds_ || (start_ns >= bounds_->first && start_ns <= bounds_->second);
  }
  // The collective call of each kernel that one launched, by the kernel's correlation.
  const std::unordered_map<std::int64_t, std::size_t>& calls() const { return call_of_; }
  // Kernels that became communication because of their call.
  struct Called {
    Slice slice;
    std::size_t call = 0;
  };
  const std::vector<Called>& called() const { return called_; }
  // Slices of a stream that overlap, as graphs or AMD's queues may run them. They are counted, not changed.
  std::int64_t overlapping() const { return overlapping_; }
  const AbsurdSlices& absurd() const { return absurd_; }
  const std::map<std::pair<std::uint32_t, Work>, NameTotals>& totals() const { return totals_; }

  // In order of start.
  template <class Function>
  void for_each(Function&& function) const {
    slices_.for_each(std::forward<Function>(function));
  }

 private:
  struct Pending {
    Slice slice;
    std::int64_t correlation = -1;
  };
  struct Call {
    std::int64_t correlation = 0;
    LaunchCall launch;
  };
  struct ByCorrelation {
    bool operator()(const Pending& a, const Pending& b) const { return a.correlation < b.correlation; }
    bool operator()(const Call& a, const Call& b) const { return a.correlation < b.correlation; }
  };
  struct ByStart {
    bool operator()(const Slice& a, const Slice& b) const {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    }
    bool operator()(const LaunchCall& a, const LaunchCall& b) const { return a.start_ns < b.start_ns; }
  };
  // Histogram of the durations of one name, in powers of sqrt(2).
  class Histogram {
   public:
    void add(std::int64_t duration_ns);
    std::int64_t count() const { return count_; }
    double median_ns() const;

   private:
    std::array<std::int64_t, 128> counts_{};
    std::int64_t count_ = 0;
  };

  void join(const CollectiveLaunches*);
  void keep(const Slice&);
  void check();
  // `following_ns` is the start of the next slice on the same stream; none: it is the last.
  void settle(Slice, std::optional<std::int64_t> following_ns);
  double usual_ns(const Slice&) const;

  SortOptions options_;
  ExternalSorter<Pending, ByCorrelation> pending_;
  ExternalSorter<Call, ByCorrelation> calls_;
  ExternalSorter<Slice, ByStart> joined_;
  ExternalSorter<Slice, ByStart> outside_;  // begin outside of the bounds
  ExternalSorter<Slice, ByStart> slices_;
  ExternalSorter<LaunchCall, ByStart> lost_;  // launches without a slice
  std::set<std::uint32_t> joined_launchers_;  // with a slice
  std::optional<std::int64_t> host_end_ns_;
  std::optional<std::pair<std::int64_t, std::int64_t>> bounds_;
  std::unordered_map<std::int64_t, std::size_t> call_of_;
  std::vector<Called> called_;
  std::map<std::uint32_t, Histogram> durations_;
  Histogram all_durations_;
  std::map<std::pair<std::uint32_t, Work>, NameTotals> totals_;
  AbsurdSlices absurd_;
  std::int64_t without_call_ = 0, repeated_ = 0, overlapping_ = 0, out_of_bounds_ = 0;
};

}  // namespace ddpprof::import
