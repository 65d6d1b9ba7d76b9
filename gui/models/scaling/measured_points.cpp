#include "gui/models/scaling/measured_points.hpp"

#include <algorithm>

#include "analysis/metrics/scaling.hpp"

namespace ddpprof::gui::whatif {

std::vector<MeasuredPoint> measured_points(const std::vector<metrics::Configuration>& configurations,
                                           const std::string& strategy) {
  using metrics::RunStep;
  std::vector<MeasuredPoint> points;
  for (const metrics::Configuration* c : metrics::scaling_configurations(configurations)) {
    if (c->strategy != strategy) continue;
    const auto median = [&](double RunStep::*field) { return metrics::median_of(c->parts(), field).mid; };
    MeasuredPoint point;
    point.strategy = strategy;
    point.workers = c->world_size;
    point.batch_per_worker = c->batch_per_worker;
    point.accumulation = c->accumulation;
    point.step_s = metrics::median_of(c->timed(), &RunStep::duration_s);
    point.throughput = metrics::throughput(*c);
    if (const metrics::Configuration* one = metrics::baseline(configurations, *c)) {
      const double of_one = metrics::throughput(*one);
      // The batch of imported data may be unknown. Then the ratio comes from the steps, assuming an equal batch per
      // rank.
      point.speedup = of_one > 0.0 ? point.throughput / of_one
                                   : static_cast<double>(c->world_size) *
                                         metrics::median_of(one->timed(), &RunStep::duration_s).mid / point.step_s.mid;
      point.efficiency = *point.speedup / static_cast<double>(c->world_size);
    }
    point.compute_s = median(&RunStep::compute_s);
    point.overlapped_s = median(&RunStep::overlapped_s);
    point.exposed_s = median(&RunStep::exposed_s);
    point.exposed_wait_s = median(&RunStep::exposed_wait_s);
    if (c->host_known()) point.host_s = median(&RunStep::host_s);
    point.data_wait_s = median(&RunStep::data_wait_s);
    point.host_to_device_s = median(&RunStep::host_to_device_s);
    point.copy_s = median(&RunStep::copy_s);
    points.push_back(std::move(point));
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.workers < b.workers; });
  return points;
}

StepParts parts(const MeasuredPoint& point) {
  StepParts of;
  if (point.strategy == "dp") {
    of.exposed_s = point.copy_s;
  } else {
    of.overlapped_s = std::clamp(point.overlapped_s, 0.0, std::max(0.0, point.compute_s));
    if (point.workers > 1) {  // one rank exchanges nothing: its calls are other time
      of.skew_s = std::clamp(point.exposed_wait_s, 0.0, std::max(0.0, point.exposed_s));
      of.exposed_s = point.exposed_s - of.skew_s;
    }
  }
  of.input_s = point.data_wait_s + point.host_to_device_s;
  // Medians of parts may add up to more than the median step; waits and communication are kept.
  const double left_s = point.step_s.mid - of.exposed_s - of.skew_s - of.input_s;
  const double worked_s = point.compute_s + point.host_s;
  const double kept = worked_s > 0.0 ? std::clamp(left_s / worked_s, 0.0, 1.0) : 1.0;
  of.overlapped_s *= kept;
  of.compute_s = kept * point.compute_s - of.overlapped_s;
  of.host_s = kept * point.host_s;
  of.other_s = std::max(0.0, left_s - kept * worked_s);
  return of;
}

}  // namespace ddpprof::gui::whatif
