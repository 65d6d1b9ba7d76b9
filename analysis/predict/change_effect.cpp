#include "analysis/predict/change_effect.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "analysis/predict/predictor.hpp"
#include "analysis/predict/step_model/batch_change.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

void add_speedup(WhatIfRow& row, const std::vector<double>& before_s, const std::vector<double>& after_s,
                 double samples_ratio, double tail) {
  std::vector<double> speedups;
  for (std::size_t i = 0; i < std::min(before_s.size(), after_s.size()); ++i)
    speedups.push_back(samples_ratio * before_s[i] / std::max(after_s[i], 1e-9));
  row.speedup = row.throughput > 0.0 ? row.changed_throughput / row.throughput
                                     : samples_ratio * row.step_s / row.changed_step_s;  // an unknown batch
  row.speedup_low = std::min(row.speedup, stats::quantile(speedups, tail));
  row.speedup_high = std::max(row.speedup, stats::quantile(speedups, 1.0 - tail));
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
  const double drift = drift_sd(predictor, after.machine);
  const MonteCarlo& drawn = predictor.prepared().samples;
  const std::vector<double> before_s = drawn.steps_s(before, drift, drawn.count_for(change));
  const std::vector<double> after_s = drawn.steps_s(after, drift, drawn.count_for(change));
  const StepProfile& profile = job.nearest(before.machine);
  const double samples = throughput(job, workers, 1.0, {});
  const double samples_ratio = samples > 0.0 ? throughput(job, workers, 1.0, change) / samples
                                             : rounds_ratio(profile, change) * batch_ratio(profile, change);
  const double tail = tail_of(predictor);
  row.changed_low_s = std::min(row.changed_step_s, stats::quantile(after_s, tail));
  row.changed_high_s = std::max(row.changed_step_s, stats::quantile(after_s, 1.0 - tail));
  add_speedup(row, before_s, after_s, samples_ratio, tail);
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
    const StepCase at = one.prepared().model.case_at(workers);
    return one.prepared().samples.steps_s(at, drift_sd(one, at.machine));
  };
  const double samples = throughput(here.job(), workers, 1.0, {});
  const double samples_ratio = samples > 0.0 ? throughput(there.job(), workers, 1.0, {}) / samples : 1.0;
  add_speedup(row, steps_s(here), steps_s(there), samples_ratio, tail_of(here));
  return row;
}

}  // namespace ddpprof::fit
