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
  const double beyond = static_cast<double>(at.machine.workers) / static_cast<double>(job.largest_measured());
  if (!(beyond > far_beyond_measured)) return interval;
  const Growth growth = growth_beyond(predictor, at.machine, confidence);
  interval.low = std::max(least_s, std::min(interval.low, step_s * std::exp(growth.low - growth.mean)));
  interval.high = std::max(interval.high, step_s * std::exp(growth.high - growth.mean));
  return interval;
}

}  // namespace ddpprof::fit
