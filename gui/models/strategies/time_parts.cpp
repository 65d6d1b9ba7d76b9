#include "gui/models/strategies/time_parts.hpp"

#include <algorithm>

namespace ddpprof::gui {

using step::SegmentKind;

double hidden_s(const fit::Terms& terms) { return std::max(0.0, terms.communication_s - terms.exposed_s); }

TimeParts recorded_parts(const fit::Terms& terms) {
  TimeParts parts;
  parts.compute_s = terms.compute_s;
  parts.exposed_s = terms.exposed_s;
  parts.skew_s = terms.skew_s;
  parts.host_s = terms.host_s;
  parts.other_s = terms.other_s;
  parts.hidden_s = hidden_s(terms);
  return parts;
}

TimeParts simulated_parts(const step::StepLanes& lanes) {
  TimeParts parts;
  for (const SegmentKind kind :
       {SegmentKind::forward, SegmentKind::backward, SegmentKind::optimizer, SegmentKind::own_copy})
    parts.compute_s += total_s(lanes, kind);
  parts.compute_s -= lanes.host_in_compute_s + lanes.exposed_in_compute_s;
  parts.exposed_s =
      total_s(lanes, SegmentKind::exposed) + total_s(lanes, SegmentKind::copies) + lanes.exposed_in_compute_s;
  parts.host_s = lanes.host_in_compute_s + lanes.host_in_other_s;
  parts.skew_s = total_s(lanes, SegmentKind::skew);
  parts.other_s = total_s(lanes, SegmentKind::data) + total_s(lanes, SegmentKind::other) - lanes.host_in_other_s;
  parts.not_modelled_s = total_s(lanes, SegmentKind::not_modelled);
  return parts;
}

}  // namespace ddpprof::gui
