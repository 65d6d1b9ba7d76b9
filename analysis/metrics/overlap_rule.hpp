// Rules of different tools for the overlap of compute and communication.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analysis/metrics/device_windows.hpp"

namespace ddpprof::metrics {

enum class OverlapRule {
  // Intersections of intervals in whole nanoseconds: the rule of this program.
  intersection,
  // Holistic Trace Analysis: the same intervals in microseconds of double precision, as it reads them from the trace;
  // compute includes what communication overlaps. Its rounding to whole microseconds, and its leaving out of the last
  // step, are not repeated. https://hta.readthedocs.io
  hta,
  // The PyTorch Profiler's TensorBoard plugin, distributed view: computation and communication are each what the other
  // does not overlap, the overlap stands beside them. By its definitions; its own figures are wrong where it does not
  // find NCCL's kernels (docs/reference/report/steps.md).
  tensorboard,
};

std::string_view to_string(OverlapRule);
const std::vector<OverlapRule>& all_overlap_rules();

// The times of one window by the rule `hta`.
struct HtaTimes {
  DeviceWindow window;
  double span_s = 0, compute_s = 0, non_compute_s = 0, idle_s = 0, communication_s = 0, copies_s = 0, overlapped_s = 0,
         exposed_s = 0;
  std::optional<double> overlapped_share;  // overlapped / communication; none without communication
};

// In the order of read_device_windows, windows whose device events are in the file. Throws SQLite::Exception.
std::vector<HtaTimes> hta_times(SQLite::Database&);

}  // namespace ddpprof::metrics
