#include "gui/models/strategies/time_parts.hpp"

#include <algorithm>

namespace ddpprof::gui {

using step::SegmentKind;

TimeParts parts_of(const report::RunStep& step, const report::Configuration& configuration) {
  const bool dp = configuration.strategy == "dp", several = configuration.world_size > 1;
  TimeParts parts;
  double outside_s = 0.0;  // of compute
  if (dp)
    outside_s = step.communication_s > 0.0 ? step.exposed_s : step.copy_s;
  else if (several)  // one rank exchanges nothing
    outside_s = step.exposed_s;
  parts.skew_s = dp ? 0.0 : std::min(step.skew_s, outside_s);
  parts.exposed_s = outside_s - parts.skew_s;
  parts.hidden_s = several ? step.overlapped_s : 0.0;
  const double passes_s = step.forward_s + step.backward_s + step.optimizer_s;
  parts.compute_s = std::min(step.compute_s > 0.0 ? step.compute_s : passes_s, step.duration_s - outside_s);
  parts.other_s = step.duration_s - parts.compute_s - outside_s;
  return parts;
}

std::optional<TimeParts> measured_parts(const report::Configuration& configuration, double step_s) {
  TimeParts sum;
  double steps = 0.0, in_flight_s = 0.0;
  for (const report::RunStep& step : configuration.measured) {
    if (!(step.duration_s > 0.0)) continue;
    const TimeParts parts = parts_of(step, configuration);
    const double share = 1.0 / step.duration_s;
    sum.compute_s += parts.compute_s * share;
    sum.exposed_s += parts.exposed_s * share;
    sum.skew_s += parts.skew_s * share;
    sum.other_s += parts.other_s * share;
    sum.hidden_s += parts.hidden_s * share;
    in_flight_s += step.communication_s;
    steps += 1.0;
  }
  if (steps == 0.0) return std::nullopt;
  if (configuration.strategy == "ddp" && configuration.world_size > 1 && !(in_flight_s > 0.0)) return std::nullopt;
  for (double* part : {&sum.compute_s, &sum.exposed_s, &sum.skew_s, &sum.other_s, &sum.hidden_s})
    *part *= step_s / steps;
  return sum;
}

TimeParts simulated_parts(const step::StepLanes& lanes) {
  TimeParts parts;
  for (const SegmentKind kind :
       {SegmentKind::forward, SegmentKind::backward, SegmentKind::optimizer, SegmentKind::own_copy})
    parts.compute_s += total_s(lanes, kind);
  parts.exposed_s = total_s(lanes, SegmentKind::exposed) + total_s(lanes, SegmentKind::copies);
  parts.skew_s = total_s(lanes, SegmentKind::skew);
  parts.other_s = total_s(lanes, SegmentKind::data) + total_s(lanes, SegmentKind::other);
  parts.not_modelled_s = total_s(lanes, SegmentKind::not_modelled);
  return parts;
}

}  // namespace ddpprof::gui
