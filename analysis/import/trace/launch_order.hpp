// Computes what a device had finished of the work that the host had launched by given times, and what it began
// afterwards.
//
// A stream runs its work in the order of its launch. Copies of a stream without kernels run beside the phases, as those
// of the next batch do: they do not count. So a gradient is ready on the device when the last work ends that
// was launched before the host's hook. Neither the host's time nor a recorded device time gives this directly.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/import/trace/slice.hpp"
#include "analysis/ingest/intervals.hpp"

namespace ddpprof::import {

class LaunchOrder {
 public:
  // The times that will be requested, in any order.
  explicit LaunchOrder(std::vector<std::int64_t> moments_ns);

  void add(const Slice&);
  void finish();

  // The latest end of the work launched before the time. computed_by_ns() counts copies and kernels that do not belong
  // to a collective; done_by_ns() counts everything. None: no work was launched before it.
  std::optional<std::int64_t> computed_by_ns(std::int64_t moment_ns) const;
  std::optional<std::int64_t> done_by_ns(std::int64_t moment_ns) const;
  // The earliest start of the compute work launched at or after the time.
  std::optional<std::int64_t> begun_from_ns(std::int64_t moment_ns) const;

  // From the end of the work before the host's step to the end of its own work. If no work before it was recorded, that
  // work is assumed to have ended as long before or after the host's start as the step's own work before or after its
  // end, and not after the start of the step's first work.
  ingest::Interval step_on_device(const ingest::Interval& host) const;

 private:
  struct Bounds {
    std::vector<std::int64_t> ends, starts;  // like computed_ and begun_
  };
  std::size_t place(std::int64_t moment_ns) const;
  Bounds no_work() const;

  std::vector<std::int64_t> moments_ns_;                            // ascending, without duplicates
  std::set<std::pair<std::int32_t, std::int32_t>> kernel_streams_;  // by device
  std::map<std::pair<std::int32_t, std::int32_t>, Bounds> copies_;  // by device and stream
  std::vector<std::int64_t> computed_, done_;                       // [i]: of the launches before moment i
  std::vector<std::int64_t> begun_;                                 // [i]: of the launches from moment i - 1 on
};

}  // namespace ddpprof::import
