#include "simulator/step/lanes.hpp"

#include <algorithm>
#include <utility>

namespace ddpprof::step {

std::string_view to_string(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::data:
      return "input";
    case SegmentKind::forward:
      return "forward";
    case SegmentKind::backward:
      return "backward";
    case SegmentKind::optimizer:
      return "optimizer";
    case SegmentKind::own_copy:
      return "copies on the device";
    case SegmentKind::overlapped:
      return "overlapped communication";
    case SegmentKind::exposed:
      return "exposed communication";
    case SegmentKind::skew:
      return "waiting for slower ranks";
    case SegmentKind::copies:
      return "copies between devices";
    case SegmentKind::other:
      return "other";
    case SegmentKind::not_modelled:
      return "not modelled";
    case SegmentKind::gradient:
      return "gradient ready";
    case SegmentKind::launch:
      return "launched";
  }
  return "other";
}

bool is_compute(SegmentKind kind) {
  return kind == SegmentKind::forward || kind == SegmentKind::backward || kind == SegmentKind::optimizer ||
         kind == SegmentKind::own_copy;
}

bool is_moment(SegmentKind kind) { return kind == SegmentKind::gradient || kind == SegmentKind::launch; }

double total_s(const StepLanes& lanes, SegmentKind kind) {
  double sum_s = 0.0;
  if (lanes.lanes.empty()) return sum_s;
  for (const Segment& segment : lanes.lanes.front().segments)
    if (segment.kind == kind) sum_s += segment.duration_s();
  return sum_s;
}

}  // namespace ddpprof::step
