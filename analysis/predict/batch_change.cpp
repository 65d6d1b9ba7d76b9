// What a change of the batch does to a step's forward and backward.
#include <cmath>

#include "analysis/fit/text.hpp"
#include "analysis/predict/predictor.hpp"

namespace ddpprof::fit {

double batch_ratio(const StepProfile& profile, const WhatIf& change) {
  if (!change.batch_per_worker || profile.batch_per_worker <= 0) return 1.0;
  return static_cast<double>(*change.batch_per_worker) / static_cast<double>(profile.batch_per_worker);
}

double Predictor::batch_factor(const StepProfile& profile, const WhatIf& change, const Draw& draw) const {
  const double samples = batch_ratio(profile, change);
  if (samples == 1.0) return 1.0;
  const BatchFit& fit = compute().batch;
  if (!fit.usable) return draw.batch == 0.0 ? samples : samples * std::pow(samples, draw.batch * batch_exponent_sd);
  const auto from = static_cast<double>(profile.batch_per_worker), to = samples * from;
  const BatchLaw* law = draw.batch_law;
  const double grown = law ? law->growth(to, draw.batch_own) / law->growth(from, draw.batch_own) : fit.ratio(from, to);
  return grown * std::exp(draw.batch * batch_exponent_sd * (fit.beyond(from) + fit.beyond(to)));
}

double Predictor::passes(const StepProfile& profile, const WhatIf& change, const Draw& draw) const {
  return change.frees(Term::compute) ? 0.0 : batch_factor(profile, change, draw) / change.compute_speed;
}

double Predictor::passes(const Case& at, const Draw& draw) const { return passes(*at.profile, at.change, draw); }

std::string Predictor::batch_assumption(const WhatIf& change) const {
  const StepProfile& last = profiles().rbegin()->second;
  const double samples = batch_ratio(last, change);
  const BatchFit& fit = compute().batch;
  if (samples == 1.0) return "";
  if (!fit.usable)
    return "that compute follows the batch in proportion is assumed (to the power of 1 ± " +
           number_text(batch_exponent_sd) + "): " +
           (fit.status.empty() ? "all of it was measured with a batch of " + std::to_string(last.batch_per_worker)
                               : "the batches that were measured are " + fit.status);
  const double beyond = fit.beyond(samples * static_cast<double>(last.batch_per_worker));
  if (beyond == 0.0) return "";
  return "that compute goes on with the batch as between " + std::to_string(fit.batches.front()) + " and " +
         std::to_string(fit.batches.back()) + " samples is assumed (within " +
         percent(std::expm1(batch_exponent_sd * beyond)) + ")";
}

}  // namespace ddpprof::fit
