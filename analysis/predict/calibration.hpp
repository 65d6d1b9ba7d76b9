// Measured over modelled step times: how they correct a prediction, and how far the correction may drift beyond the
// measured N.
//
// Each measured N gives one calibration. Compute, input and gaps are that N's own medians, so a difference is first
// attributed to the waiting (exposed communication and skew); the rest is spread over the whole step. One rank does not
// communicate: the calibration of N = 1 corrects the step without its communication. Between measured ranks per host,
// and then between measured N, calibrations are interpolated in the logarithm. Beyond them the last one is kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/predict/step_model/measured_job.hpp"
#include "analysis/predict/step_model/step_model.hpp"
#include "analysis/predict/step_model/terms.hpp"

namespace ddpprof::fit {

// Measured over modelled at one N, as logarithms.
struct Calibration {
  std::int64_t workers = 1;
  std::int64_t ranks_per_machine = 1;
  double waiting = 0.0;              // of exposed communication and skew, within a factor of five either way
  double missing_s = 0.0;            // missing waiting at this N
  double missed = 0.0;               // missing waiting over the communication in flight; not a logarithm
  double step = 0.0;                 // of the whole step, after the waiting is corrected
  double step_of_waiting = 0.0;      // the part of `step` that also corrects communication: 0 at N = 1
  double raw = 0.0;                  // of the whole step, before any correction
  double waiting_less_1 = 0.0;       // exp(waiting) - 1
  double step_factor = 1.0;          // exp(step)
  double waiting_step_factor = 1.0;  // exp(step_of_waiting)
};

using Calibrations = std::vector<Calibration>;  // by ranks per host, then N

// Compares the model with every measured step. `levels`: standard normal values, one for each measured N, that shift
// its measured median by its standard error; empty for no shift.
Calibrations calibrate(const StepModel&, const StepParameters&, std::span<const double> levels = {});

// Returns the weight of each calibration on a machine. The weights depend on the calibrations' places alone.
std::vector<double> calibration_weights(const Calibrations&, const Machine&);
Calibration weighted_mean(const Calibrations&, const std::vector<double>& weights);
Calibration calibration_for(const Calibrations&, const Machine&);

// Returns the terms corrected by the calibration. The waiting also gets the factor exp(drift). The missing waiting
// grows with the communication, but never by more than in proportion to the waiting itself: if compute hides nearly all
// communication, a small remainder does not show how the waiting grows. `other_links`: the terms are of links that were
// not measured; the missing waiting then grows no further than at the measured N, because it is of other links.
Terms calibrated(Terms, const Calibration&, double drift, bool other_links = false);

// Standard deviations of the drift of the waiting's logarithm beyond the measured N.
struct Drift {
  double a_doubling = 0.0;  // for each doubling of N
  double at_start = 0.0;    // if no measured N shows the waiting
  double doublings = 0.0;   // of N, beyond the measured data
  double sd() const;        // of all of it
};
// `other_links`: between nodes, and not measured. Their range of rates contains the errors of the measured links' fit, so
// the waiting drifts as little as with a fit without errors.
Drift drift_of(const MeasuredJob&, const Calibrations&, const Machine&, bool other_links = false);

// Returns the larger of the waiting's and the step's correction at this N, as a factor of at least 1.
double largest_correction(const Calibrations&, std::int64_t workers);

}  // namespace ddpprof::fit
