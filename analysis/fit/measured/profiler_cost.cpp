#include "analysis/fit/measured/profiler_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double least_profiler_share = 0.5;                  // of work_factor() in the factor of the whole step
constexpr double least_factor = 0.05, largest_factor = 1.25;  // above 1: the machine was disturbed without the profiler

bool with_profiler(const StepInfo& step) { return !step.unwrapped && !step.untraced; }

// The part of a step that the profiler does not lengthen.
std::int64_t waits_ns(const StepInfo& step) {
  return std::clamp<std::int64_t>(step.exposed_ns + step.data_ns, 0, step.duration_ns);
}

// Returns the median over the steps of the mean over the ranks.
template <typename Value>
double median_of_means(const std::vector<StepInfo>& steps, bool untraced, Value value) {
  std::map<std::int64_t, std::vector<double>> by_step;
  for (const StepInfo& step : steps)
    if (untraced ? step.untraced : with_profiler(step)) by_step[step.step].push_back(static_cast<double>(value(step)));
  std::vector<double> means;
  for (const auto& [number, of_ranks] : by_step) means.push_back(stats::mean(of_ranks));
  return means.empty() ? 0.0 : stats::median(means);
}

std::int64_t scaled(std::int64_t ns, double factor) { return std::llround(static_cast<double>(ns) * factor); }

// Maps times since a step's start. The wait for data keeps its length, then work is shorter until the backward's last
// gradient, and exposed communication keeps its length.
struct TimeMap {
  TimeMap(const StepInfo& step, double work, double waits)
      : data_ns(step.data_ns),
        factor(work),
        waits_factor(waits),
        computed_ns(step.last_ready_ns.value_or(step.duration_ns)) {}
  std::int64_t at(std::int64_t ns) const {
    if (ns <= data_ns) return scaled(ns, waits_factor);
    const std::int64_t work_ns = std::min(ns, std::max(computed_ns, data_ns)) - data_ns;
    return scaled(data_ns, waits_factor) + scaled(work_ns, factor) + scaled(ns - data_ns - work_ns, waits_factor);
  }
  std::int64_t data_ns;
  double factor, waits_factor;
  std::int64_t computed_ns;
};

}  // namespace

ProfilerCost::ProfilerCost(const std::vector<StepInfo>& steps) {
  const auto duration = [](const StepInfo& step) { return step.duration_ns; };
  const double traced_ns = median_of_means(steps, false, duration),
               untraced_ns = median_of_means(steps, true, duration);
  if (!(traced_ns > 0.0 && untraced_ns > 0.0)) return;
  const double waits = median_of_means(steps, false, waits_ns);
  known_ = true;
  const double whole = std::clamp(untraced_ns / traced_ns, least_factor, largest_factor);
  if (traced_ns > waits) factor_ = (untraced_ns - waits) / (traced_ns - waits);
  // Steps with the profiler that wait almost as long as a whole step without it: the waiting became longer, too.
  if (!(traced_ns > waits) || factor_ < least_profiler_share * whole) {
    factor_ = waits_factor_ = whole;
    waits_longer_ = true;
  }
  factor_ = std::min(factor_, largest_factor);
}

std::vector<StepInfo> ProfilerCost::removed(std::vector<StepInfo> steps) const {
  if (!known_) return steps;
  for (StepInfo& step : steps) {
    if (!with_profiler(step)) continue;
    const TimeMap map(step, factor_, waits_factor_);
    const std::int64_t traced_exposed_ns = std::max<std::int64_t>(0, step.exposed_ns);
    const std::int64_t exposed_ns = scaled(traced_exposed_ns, waits_factor_);
    const auto backward = [&](std::int64_t ns) {
      const std::int64_t waited_ns = std::min(traced_exposed_ns, ns);
      return scaled(waited_ns, waits_factor_) + scaled(ns - waited_ns, factor_);
    };
    const std::int64_t waits = waits_ns(step);
    step.duration_ns = scaled(waits, waits_factor_) + scaled(step.duration_ns - waits, factor_);
    step.exposed_ns = exposed_ns;
    step.skew_ns = scaled(step.skew_ns, waits_factor_);
    step.data_ns = scaled(step.data_ns, waits_factor_);
    step.buffers_ns = scaled(step.buffers_ns, factor_);
    step.forward_ns = scaled(step.forward_ns, factor_);
    step.backward_ns = backward(step.backward_ns);
    step.last_backward_ns = backward(step.last_backward_ns);
    step.optimizer_ns = scaled(step.optimizer_ns, factor_);
    step.early_optimizer_ns = scaled(step.early_optimizer_ns, factor_);
    step.compute_ns = scaled(step.compute_ns, factor_);
    for (std::int64_t* ns : {&step.others_before_ns, &step.others_in_ns, &step.others_after_ns, &step.others_skew_ns})
      *ns = scaled(*ns, waits_factor_);
    if (step.device_idle_ns) step.device_idle_ns = scaled(*step.device_idle_ns, factor_);
    step.overlapped_ns = scaled(step.overlapped_ns, factor_);
    step.communication_ns = step.overlapped_ns + exposed_ns;
    if (step.backward_start_ns) step.backward_start_ns = map.at(*step.backward_start_ns);
    if (step.last_ready_ns) step.last_ready_ns = map.at(*step.last_ready_ns);
  }
  return steps;
}

std::vector<CollectiveInfo> ProfilerCost::removed(std::vector<CollectiveInfo> collectives,
                                                  const std::vector<StepInfo>& steps) const {
  if (!known_) return collectives;
  std::map<std::int64_t, const StepInfo*> by_id;
  for (const StepInfo& step : steps) by_id[step.id] = &step;
  for (CollectiveInfo& collective : collectives) {
    const auto step = by_id.find(collective.step_id);
    if (step == by_id.end() || !with_profiler(*step->second)) continue;
    const TimeMap map(*step->second, factor_, waits_factor_);
    const std::int64_t begin_ns = step->second->start_ns;
    const auto move = [&](std::int64_t ns) { return begin_ns + map.at(ns - begin_ns); };
    collective.launch_ns = move(collective.launch_ns);
    for (std::optional<std::int64_t>* ns : {&collective.ready_ns, &collective.start_ns, &collective.end_ns})
      if (*ns) *ns = move(**ns);
  }
  return collectives;
}

std::vector<GradientReady> ProfilerCost::removed(std::vector<GradientReady> gradients) const {
  for (GradientReady& gradient : gradients) gradient.ready_s *= factor_;
  return gradients;
}

}  // namespace ddpprof::fit
