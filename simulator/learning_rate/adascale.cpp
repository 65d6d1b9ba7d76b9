#include "simulator/learning_rate/adascale.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {
namespace {

bool sound(const AdaScaleState& state) {
  const auto least = [](double value) { return value >= 0.0 && std::isfinite(value); };
  return state.steps >= 0 && state.base_batch >= 0 && least(state.base_steps) && least(state.average.gradient_sqr) &&
         least(state.average.trace);
}

}  // namespace

AdaScale::AdaScale(const Plan& plan, std::int64_t parts, const AdaScaleState& state)
    : base_(base_schedule(plan)), state_(state) {
  const Schedule own = unscaled(plan);
  base_batch_ = static_cast<double>(plan.base_batch);
  batch_ = static_cast<double>(own.global_batch);
  if (parts < 1)
    throw std::invalid_argument("AdaScale: a gradient of " + std::to_string(parts) + " parts, expected 1 or more");
  if (parts == 1 && own.kappa != 1.0)
    throw std::invalid_argument(
        "AdaScale computes its gain from the differences between the gradients of several ranks, or of one rank's "
        "micro-batches; one rank without accumulation has a single gradient. Expected workload.accumulation of 2 or "
        "more, more workers, "
        "or a global batch of learning_rate.base_batch");
  if (!sound(state)) throw std::invalid_argument("AdaScale: an invalid state, expected finite numbers");
  if (state_.base_batch > 0)
    state_.base_steps *= static_cast<double>(state_.base_batch) / static_cast<double>(plan.base_batch);
  state_.base_batch = plan.base_batch;
  keep_ = std::max(1.0 - static_cast<double>(parts) / 1000.0, 0.0);
}

double AdaScale::gain() const {
  const double kappa = batch_ / base_batch_, variance = state_.average.trace / base_batch_,
               squared = state_.average.gradient_sqr;
  const double all = variance / kappa + squared;
  return all > 0.0 ? (variance + squared) / all : 1.0;
}

double AdaScale::step(const std::optional<NoiseSample>& sample) {
  if (sample && std::isfinite(sample->gradient_sqr) && std::isfinite(sample->trace)) {
    ++state_.steps;
    const double first = 1.0 / static_cast<double>(state_.steps);  // a mean of all so far, while they are few
    const double weight = std::max(first, 1.0 - keep_);
    const auto take = [weight](double& average, double estimate) {
      average += weight * (std::max(estimate, 0.0) - average);
    };
    take(state_.average.gradient_sqr, sample->gradient_sqr);
    take(state_.average.trace, sample->trace);
  }
  const auto last = static_cast<double>(base_.total_steps - 1);
  const double rate = base_.lr_at(static_cast<std::int64_t>(std::min(state_.base_steps, last)));
  state_.base_steps += gain();
  return gain() * rate;
}

bool AdaScale::done() const { return state_.base_steps >= static_cast<double>(base_.total_steps); }

}  // namespace ddpprof::learning_rate
