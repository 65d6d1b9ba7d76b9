// What a device had done, and was yet to do, of the work that the host had launched by given moments.
//
// A stream runs its work in the order of its launch. So the moment a gradient is ready on the device is the end of the
// last work launched before the host said so; neither the host's own moment nor a time of its own tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/import/trace/slice.hpp"

namespace ddpprof::import {

class LaunchOrder {
 public:
  // The moments that will be asked about, in any order.
  explicit LaunchOrder(std::vector<std::int64_t> moments_ns);

  void add(const Slice&);
  void finish();

  // The latest end of the work launched before the moment: of kernels that are no collective's and copies, or of
  // everything. None: nothing was launched before it.
  std::optional<std::int64_t> computed_by_ns(std::int64_t moment_ns) const;
  std::optional<std::int64_t> done_by_ns(std::int64_t moment_ns) const;
  // The earliest start of the compute launched at or after it.
  std::optional<std::int64_t> begun_from_ns(std::int64_t moment_ns) const;

 private:
  std::size_t place(std::int64_t moment_ns) const;

  std::vector<std::int64_t> moments_ns_;       // ascending, each once
  std::vector<std::int64_t> computed_, done_;  // [i]: of the launches before moment i, back to the one before
  std::vector<std::int64_t> begun_;            // [i]: of the launches from moment i - 1 to moment i
};

}  // namespace ddpprof::import
