#include "analysis/predict/step_interval.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/fit/table/learned.hpp"
#include "analysis/predict/predictor.hpp"

namespace ddpprof::fit {
namespace {

// Returns the growth of the step since the largest measured N, with the errors of tables at this distance: learned from
// published tables of step times (scripts/learn-step-tables), for families of models that were left out.
Growth growth_beyond(const Predictor& predictor, const Machine& machine, double confidence) {
  const MeasuredJob& job = predictor.job();
  const std::int64_t largest = job.largest_measured();
  GrowthQuestion question;
  question.doublings = std::log2(static_cast<double>(machine.workers) / static_cast<double>(largest));
  if (machine.nodes > 1)
    question.region = job.profiles().at(largest).machine.nodes > 1 ? Region::several_nodes : Region::first_crossing;
  const Terms terms = predictor.central(largest);
  if (terms.step_s() > 0.0) question.loss = std::clamp((terms.exposed_s + terms.skew_s) / terms.step_s(), 0.0, 1.0);
  return growth_of(question, learned_constants.growth, confidence);
}

// Returns the part of the predicted waiting that more ranks may not add to the measured step: communication may run
// while the device waits for the host's launches anyway, a rank that is slower than the others in all steps makes many
// ranks wait no longer than few, and without the traces of some ranks transfer may be waiting.
double uncertain_waiting_s(const Predictor& predictor, const StepCase& at) {
  const StepProfile& measured = *at.profile;
  if (at.measured) return 0.0;
  const Terms terms = predictor.modelled(at);
  const Terms before = predictor.modelled(predictor.prepared().model.case_at(measured.machine.workers));
  const double exposed_s = std::max(0.0, terms.exposed_s - before.exposed_s);
  const double skew_s = std::max(0.0, terms.skew_s - before.skew_s);
  if (measured.waits_estimated) return exposed_s + skew_s;
  const double late_s = measured.straggler_s;
  const double lasting = late_s > 0.0 ? std::min(1.0, measured.slowest_rank_s / late_s) : 0.0;
  const double beside_host_s = std::min(terms.host_s, exposed_s + (1.0 - lasting) * skew_s);
  return beside_host_s + lasting * skew_s;
}

}  // namespace

stats::Interval step_interval(const Predictor& predictor, const StepCase& at, double step_s, std::size_t samples,
                              double least_s) {
  const MeasuredJob& job = predictor.job();
  const double confidence = job.options().confidence;
  least_s = std::max(least_s, at.least_step_s);
  stats::Interval interval;
  bool first = true;
  for (const StepCase& end : link_ends(at)) {
    const stats::Interval own = interval_of(predictor.steps_s(end, samples), confidence, least_s);
    interval.low = first ? own.low : std::min(interval.low, own.low);
    interval.high = first ? own.high : std::max(interval.high, own.high);
    interval.achieved_confidence = own.achieved_confidence;
    first = false;
  }
  interval.low = std::max(least_s, std::min(interval.low, step_s - uncertain_waiting_s(predictor, at)));
  const double beyond = static_cast<double>(at.machine.workers) / static_cast<double>(job.largest_measured());
  if (!(beyond > far_beyond_measured)) return interval;
  const Growth growth = growth_beyond(predictor, at.machine, confidence);
  interval.low = std::max(least_s, std::min(interval.low, step_s * std::exp(growth.low - growth.mean)));
  interval.high = std::max(interval.high, step_s * std::exp(growth.high - growth.mean));
  return interval;
}

}  // namespace ddpprof::fit
