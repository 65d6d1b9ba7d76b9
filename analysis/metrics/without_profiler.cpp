#include <cmath>
#include <map>
#include <utility>

#include "analysis/fit/measured/profiler_cost.hpp"
#include "analysis/metrics/measured.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::metrics {
namespace {

std::int64_t in_ns(double seconds) { return std::llround(seconds * 1e9); }

double in_seconds(std::int64_t ns) { return units::ns_to_s(static_cast<double>(ns)); }

// The times that both kinds of step have as such.
struct Part {
  double RunStep::*time_s;
  std::int64_t fit::StepInfo::*time_ns;
};
constexpr Part same_parts[] = {{&RunStep::buffers_s, &fit::StepInfo::buffers_ns},
                               {&RunStep::forward_s, &fit::StepInfo::forward_ns},
                               {&RunStep::backward_s, &fit::StepInfo::backward_ns},
                               {&RunStep::optimizer_s, &fit::StepInfo::optimizer_ns},
                               {&RunStep::compute_s, &fit::StepInfo::compute_ns},
                               {&RunStep::communication_s, &fit::StepInfo::communication_ns},
                               {&RunStep::overlapped_s, &fit::StepInfo::overlapped_ns},
                               {&RunStep::exposed_s, &fit::StepInfo::exposed_ns},
                               {&RunStep::skew_s, &fit::StepInfo::skew_ns}};

// The mean over the ranks takes the place of a rank's step.
fit::StepInfo step_info(const RunStep& step, bool untraced) {
  fit::StepInfo info;
  info.step = step.step;
  info.untraced = untraced;
  info.duration_ns = in_ns(step.duration_s);
  if (untraced) return info;
  info.data_ns = in_ns(step.data_wait_s + step.host_to_device_s);
  for (const Part& part : same_parts) info.*part.time_ns = in_ns(step.*part.time_s);
  if (step.host_known) info.device_idle_ns = in_ns(step.host_s);
  return info;
}

double ratio_of(std::int64_t part_ns, std::int64_t whole_ns) {
  return whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 1.0;
}

RunStep removed(RunStep step, const fit::ProfilerCost& cost) {
  const fit::StepInfo with = step_info(step, false), without = cost.removed(std::vector{with}).front();
  const double duration = ratio_of(without.duration_ns, with.duration_ns);
  for (double* time_s : {&step.duration_s, &step.fastest_s, &step.slowest_s}) *time_s *= duration;
  const double data = ratio_of(without.data_ns, with.data_ns);
  for (double* time_s : {&step.data_wait_s, &step.host_to_device_s}) *time_s *= data;
  step.exposed_wait_s *= ratio_of(without.exposed_ns, with.exposed_ns);
  for (const Part& part : same_parts) step.*part.time_s = in_seconds(without.*part.time_ns);
  if (without.device_idle_ns) step.host_s = in_seconds(*without.device_idle_ns);
  return step;
}

}  // namespace

std::vector<RunStep> without_profiler(const Configuration& configuration) {
  std::map<std::int64_t, std::vector<fit::StepInfo>> steps;  // by measurement
  for (const RunStep& step : configuration.measured) steps[step.measurement].push_back(step_info(step, false));
  for (const RunStep& step : configuration.untraced) steps[step.measurement].push_back(step_info(step, true));
  std::map<std::int64_t, fit::ProfilerCost> costs;
  for (const auto& [measurement, of_measurement] : steps) costs.emplace(measurement, of_measurement);
  std::vector<RunStep> all;
  for (const RunStep& step : configuration.measured) all.push_back(removed(step, costs.at(step.measurement)));
  return all;
}

}  // namespace ddpprof::metrics
