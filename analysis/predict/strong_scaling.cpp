#include "analysis/predict/strong_scaling.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "analysis/predict/predictor.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// Returns why compute at this batch does not follow from measurements; empty if it does.
std::string batch_refusal(const BatchFit& fit, std::int64_t measured, std::int64_t batch) {
  if (batch == measured) return "";
  const std::string advice = ": measure it (measure.batches, or ddpprof run --batches with a command)";
  if (fit.refused()) return "the fit of the measured batches is " + fit.status;
  if (!fit.usable) return "the only measured batch per worker is " + std::to_string(measured) + advice;
  if (batch >= fit.batches.front() && batch <= fit.batches.back()) return "";
  return "a batch of " + std::to_string(batch) + " per worker is outside of the measured batches, " +
         std::to_string(fit.batches.front()) + " to " + std::to_string(fit.batches.back()) + advice;
}

// Returns the measured steps of exactly this configuration, if it differs from the job's profiles in the batch alone.
const StepProfile* measured_with(const MeasuredJob& job, std::int64_t workers, std::int64_t batch) {
  const auto& all = job.models().measured.other_batches;
  const auto of_strategy = all.find(job.strategy());
  if (of_strategy == all.end()) return nullptr;
  const auto found = of_strategy->second.find({workers, batch});
  return found != of_strategy->second.end() && job.ran_on(found->second, job.machine_for(workers)) ? &found->second
                                                                                                   : nullptr;
}

}  // namespace

bool batches_measured(const Predictor& predictor) { return predictor.job().compute().batch.usable; }

StrongScaling strong_scaling(const Predictor& predictor, std::span<const std::int64_t> workers,
                             std::optional<std::int64_t> global_batch) {
  const MeasuredJob& job = predictor.job();
  const StepProfile& last = job.profiles().rbegin()->second;
  if (last.batch_per_worker < 1) throw std::invalid_argument("the batch per worker was not recorded");
  StrongScaling all;
  all.strategy = job.strategy();
  all.accumulation = last.accumulation;
  all.global_batch = global_batch.value_or(last.machine.workers * last.batch_per_worker * last.accumulation);
  if (all.global_batch < 1) throw std::invalid_argument("a global batch below 1");
  for (const std::int64_t count : std::set<std::int64_t>(workers.begin(), workers.end())) {
    StrongPoint point;
    point.workers = count;
    const std::int64_t passes = count * all.accumulation;
    if (all.global_batch % passes != 0) {
      point.refusal = "a global batch of " + std::to_string(all.global_batch) + " cannot be divided into " +
                      std::to_string(passes) + " equal micro-batches";
      all.points.push_back(std::move(point));
      continue;
    }
    point.batch_per_worker = all.global_batch / passes;
    if (const StepProfile* measured = measured_with(job, count, point.batch_per_worker)) {
      const stats::Interval range = stats::clustered_median_interval(measured->step_repeats, job.options().confidence);
      point.step_s = stats::median(measured->step_s);
      point.low_s = std::min(range.low, point.step_s);
      point.high_s = std::max(range.high, point.step_s);
      point.confidence = std::min(job.options().confidence, range.achieved_confidence);
      point.throughput = static_cast<double>(all.global_batch) / point.step_s;
      all.points.push_back(std::move(point));
      continue;
    }
    const StepProfile& profile = job.nearest(job.machine_for(count));
    point.refusal = batch_refusal(job.compute().batch, profile.batch_per_worker, point.batch_per_worker);
    WhatIf change;
    if (point.batch_per_worker != profile.batch_per_worker) change.batch_per_worker = point.batch_per_worker;
    if (point.refusal.empty())
      if (const auto refused = predictor.refusal(count, change)) point.refusal = refused->reason;
    if (point.refusal.empty()) {
      const StepEstimate estimate = predictor.estimate(count, change);
      point.step_s = estimate.terms.step_s();
      point.low_s = estimate.low_s;
      point.high_s = estimate.high_s;
      point.confidence = estimate.confidence;
      point.throughput = static_cast<double>(all.global_batch) / point.step_s;
    }
    all.points.push_back(std::move(point));
  }
  return all;
}

}  // namespace ddpprof::fit
