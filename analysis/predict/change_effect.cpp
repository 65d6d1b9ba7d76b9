#include "analysis/predict/change_effect.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "analysis/predict/predictor.hpp"
#include "analysis/predict/step_interval.hpp"
#include "analysis/predict/step_model/batch_change.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// Each sample is compared with the same sample without the change, and each end of a range of links with the same end.
void add_speedup(WhatIfRow& row, const std::vector<std::vector<double>>& before_s,
                 const std::vector<std::vector<double>>& after_s, double samples_ratio, double tail) {
  row.speedup = row.throughput > 0.0 ? row.changed_throughput / row.throughput
                                     : samples_ratio * row.step_s / row.changed_step_s;  // an unknown batch
  row.speedup_low = row.speedup_high = row.speedup;
  for (std::size_t end = 0; end < std::max(before_s.size(), after_s.size()); ++end) {
    // One of two machines may need links that were not measured.
    const std::vector<double>& before = before_s[std::min(end, before_s.size() - 1)];
    const std::vector<double>& after = after_s[std::min(end, after_s.size() - 1)];
    std::vector<double> speedups;
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
      speedups.push_back(samples_ratio * before[i] / std::max(after[i], 1e-9));
    row.speedup_low = std::min(row.speedup_low, stats::quantile(speedups, tail));
    row.speedup_high = std::max(row.speedup_high, stats::quantile(speedups, 1.0 - tail));
  }
}

// Returns the steps of the samples at each end of the case's range of links.
std::vector<std::vector<double>> steps_at_ends(const Predictor& predictor, const StepCase& at, std::size_t most) {
  std::vector<std::vector<double>> all;
  for (const StepCase& end : link_ends(at))
    all.push_back(predictor.steps_s(end, most));
  return all;
}

double tail_of(const Predictor& predictor) { return (1.0 - predictor.job().options().confidence) / 2.0; }

}  // namespace

double throughput(const MeasuredJob& job, std::int64_t workers, double step_s, const WhatIf& change) {
  const StepProfile& profile = job.nearest(job.machine_for(workers));
  const double samples = profile.samples_per_worker * rounds_ratio(profile, change) * batch_ratio(profile, change);
  return static_cast<double>(workers) * samples / step_s;
}

WhatIfRow change_effect(const Predictor& predictor, std::int64_t workers, const WhatIf& change) {
  const MeasuredJob& job = predictor.job();
  const StepModel& model = predictor.prepared().model;
  if (const auto refused = change_refusal_at(job, workers, change)) throw std::invalid_argument(refused->reason);
  const StepCase before = model.case_at(workers), after = model.case_at(workers, change);
  WhatIfRow row;
  row.strategy = job.strategy();
  row.workers = workers;
  row.step_s = predictor.central(workers).step_s();
  row.changed_step_s = predictor.modelled(after).step_s();
  if (!(row.changed_step_s > 0.0)) throw std::invalid_argument("the changed step would take no time");
  row.throughput = throughput(job, workers, row.step_s, {});
  row.changed_throughput = throughput(job, workers, row.changed_step_s, change);
  const std::size_t count = predictor.prepared().samples.count_for(change);
  const StepProfile& profile = job.nearest(before.machine);
  const double samples = throughput(job, workers, 1.0, {});
  const double samples_ratio = samples > 0.0 ? throughput(job, workers, 1.0, change) / samples
                                             : rounds_ratio(profile, change) * batch_ratio(profile, change);
  const double tail = tail_of(predictor);
  const stats::Interval changed = step_interval(predictor, after, row.changed_step_s, count, 0.0);
  row.changed_low_s = std::min(row.changed_step_s, changed.low);
  row.changed_high_s = std::max(row.changed_step_s, changed.high);
  add_speedup(row, steps_at_ends(predictor, before, count), steps_at_ends(predictor, after, count), samples_ratio,
              tail);
  return row;
}

WhatIfRow machine_effect(const Predictor& here, const Predictor& there, std::int64_t workers) {
  if (const auto refused = here.refusal(workers)) throw std::invalid_argument(refused->reason);
  const StepEstimate changed = there.estimate(workers);
  WhatIfRow row;
  row.strategy = here.job().strategy();
  row.workers = workers;
  row.step_s = here.central(workers).step_s();
  row.changed_step_s = changed.terms.step_s();
  row.changed_low_s = changed.low_s;
  row.changed_high_s = changed.high_s;
  row.throughput = throughput(here.job(), workers, row.step_s, {});
  row.changed_throughput = throughput(there.job(), workers, row.changed_step_s, {});
  // Sample i of both has the same parameters, because both were drawn from the same models with the same seed.
  const auto steps_s = [&](const Predictor& one) {
    return steps_at_ends(one, one.prepared().model.case_at(workers), SIZE_MAX);
  };
  const double samples = throughput(here.job(), workers, 1.0, {});
  const double samples_ratio = samples > 0.0 ? throughput(there.job(), workers, 1.0, {}) / samples : 1.0;
  add_speedup(row, steps_s(here), steps_s(there), samples_ratio, tail_of(here));
  return row;
}

}  // namespace ddpprof::fit
