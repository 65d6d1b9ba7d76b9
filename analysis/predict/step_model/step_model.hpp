// The model of a step: a machine, a change and values of the fitted parameters give the step's terms.
//
// At a measured N the profile is the one measured there. Elsewhere it is the profile with the nearest ranks per host,
// and of these the nearest N. Its compute is scaled by the compute fit, and the all-reduce fit gives the cost of its
// collectives. CONTRIBUTING.md lists the places of a new term.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/predict/step_model/measured_job.hpp"
#include "analysis/predict/step_model/step_case.hpp"
#include "analysis/predict/step_model/step_parameters.hpp"
#include "analysis/predict/step_model/terms.hpp"

namespace ddpprof::fit {

// Pure: the same arguments always give the same terms, and no function changes the model.
class StepModel {
 public:
  explicit StepModel(MeasuredJob job) : job_(std::move(job)) {}

  const MeasuredJob& job() const { return job_; }
  // Returns the parameters' best fit.
  StepParameters best_fit() const;
  StepCase case_at(std::int64_t workers, const WhatIf& change = {}) const {
    return step_case_at(job_, workers, change);
  }
  // Returns the terms before calibration.
  Terms terms(const StepCase&, const StepParameters&) const;
  // The same for many parameter sets, in one simulation if possible. Agrees with the function above to rounding.
  std::vector<Terms> terms(const StepCase&, std::span<const StepParameters* const>) const;

 private:
  MeasuredJob job_;
};

}  // namespace ddpprof::fit
