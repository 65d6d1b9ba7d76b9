// The rules by which tools tell computing from communicating, where they differ.
#pragma once

#include <string_view>
#include <vector>

namespace ddpprof::report {

enum class OverlapRule {
  // Intersections of intervals in whole nanoseconds: this program's own.
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

}  // namespace ddpprof::report
