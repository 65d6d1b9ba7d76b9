// One strategy's prediction at any N: the step model, corrected with the measured steps, with intervals.
//
// Without a change, a measured N shows the measured median step, its interval and its parts. If the communication in
// flight was not recorded, it shows the model's parts. For any other N, the low end of the interval is at least the low
// end of the measured step of as many or fewer ranks on an equally or less loaded machine. If the predicted step itself
// is below this limit, the interval begins at the predicted step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/predict/calibration.hpp"
#include "analysis/predict/monte_carlo.hpp"
#include "analysis/predict/step_model/refusals.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::fit {

struct StepEstimate {
  Terms terms;
  double low_s = 0.0, high_s = 0.0;  // interval of the step
  double confidence = 0.0;           // of the interval
  std::optional<Refusal> refusal;    // set by step_curve if an estimate is refused
};

class Predictor;

// Everything that is computed once for all predictions.
struct PreparedModel {
  StepModel model;
  StepParameters best_fit;
  Calibrations calibrations;  // of the best fit
  MonteCarlo samples;
  std::map<std::int64_t, stats::Interval> measured_intervals;  // by measured N: of its median step
  // The same job with ranks that share cores, if each rank has its own here: own cores never make a step slower.
  std::shared_ptr<const Predictor> sharing = nullptr;
};

// A value type, constant after construction: threads may share one.
class Predictor {
 public:
  explicit Predictor(PreparedModel prepared) : prepared_(std::move(prepared)) {}

  const PreparedModel& prepared() const { return prepared_; }
  const MeasuredJob& job() const { return prepared_.model.job(); }
  // Returns why N cannot be predicted, or why the change cannot be applied there; empty if it can.
  std::optional<Refusal> refusal(std::int64_t workers, const WhatIf& = {}) const;
  // Returns the step and its interval, under a change or none. Throws std::invalid_argument with the refusal.
  StepEstimate estimate(std::int64_t workers, const WhatIf& = {}) const;
  // Returns the measured terms if N was measured on this machine, else the model's terms.
  Terms central(std::int64_t workers) const;
  // Returns the model's terms with the best-fit parameters, calibrated. Their parts have the model's meaning, the step
  // is the same as with as_measured().
  Terms modelled(const StepCase&, double drift = 0.0) const;
  // Returns true if the model gives a longer step with own cores than with shared cores: the latter is used.
  bool takes_shared_step(std::int64_t workers) const;
  // Returns the calibrated step of each sample, or of the first `most`, with the drift beyond the measured data.
  std::vector<double> steps_s(const StepCase&, std::size_t most) const;
  // Returns the median measured step, split by the mean shares of its steps. Empty if N was not measured on this
  // machine, or if the communication in flight was not recorded.
  std::optional<Terms> recorded(std::int64_t workers) const;

 private:
  // Returns the same case with ranks that share cores; none if they do here too, or need links that were not measured.
  std::optional<StepCase> sharing_case(const StepCase&) const;
  std::optional<Terms> faster_sharing(const StepCase&, double drift, double own_s) const;
  Terms own_terms(const StepCase&, double drift) const;

  PreparedModel prepared_;
};

// Calibrates the model with the best fit and with every draw. Takes tens of milliseconds.
Predictor make_predictor(std::shared_ptr<const Models>, std::string strategy, const PredictOptions&);

// Returns an estimate for each N. Uses one thread per processor, at most 16. If an estimate is refused, `refusal` is
// set.
std::vector<StepEstimate> step_curve(const Predictor&, std::span<const std::int64_t> workers, const WhatIf& = {});

// Returns the standard deviation of the drift of the waiting.
double drift_sd(const Predictor&, const StepCase&);

}  // namespace ddpprof::fit
