// The value of a larger batch for a training: its gain, its efficiency, the steps to the same result, and the batch at
// which the linear rule stops holding.
//
// With the gradient noise scale phi = tr(Sigma) / |G|^2 in samples (noise_scale.hpp), a batch B and the base batch B0:
//   gain        r(B) = kappa (phi + B0) / (phi + B), kappa = B / B0: steps at B0 that one step at B replaces. 1 without
//               noise, kappa where noise is all there is (AdaScale: Johnson et al. 2020, section 3, equation for r_t)
//   efficiency  r(B) / kappa = (phi + B0) / (phi + B): worth of a sample, beside one at B0 (Pollux: Qiao et al. 2021,
//               "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", section 3.1)
//   steps       S(B) = S(B0) / r(B), the same as S_min (1 + phi / B) with phi as the critical batch; examples S(B) B
//               (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", sections 2.2 and 2.3)
// phi may be infinite (noise that nothing bounds): then r = kappa. All of it assumes a rate that suits each batch, and
// a noise scale that stands for the whole training, which grows while training goes on.
#pragma once

#include <cstdint>

#include "simulator/stats/interval.hpp"

namespace ddpprof::learning_rate {

// Throw std::invalid_argument on a noise scale below 0 or a batch that is not above 0 and finite.
double scaling_gain(double noise_scale_samples, double base_batch, double batch);
double statistical_efficiency(double noise_scale_samples, double base_batch, double batch);

// Steps that `base_steps` at the base batch become. A larger noise scale means fewer steps at a larger batch.
double steps_at_batch(double base_steps, double noise_scale_samples, double base_batch, double batch);
stats::Interval steps_at_batch(double base_steps, const stats::Interval& noise_scale_samples, double base_batch,
                               double batch);

// The batch that is used for phi above if the steps of whole trainings are asked for and the noise scale of the base
// batch's training is known. phi itself gives too many steps at large batches. The shares were chosen from the
// trainings in docs/internals/validation.md (section noise_scale): 41 of 48 rows took steps between those of phi and of
// 3 phi or at most a tenth outside, 21 strictly between. The middle is the geometric mean of the two.
inline constexpr double least_critical_share = 1.0, middle_critical_share = 1.7320508075688772,
                        most_critical_share = 3.0;
stats::Interval critical_batch(const stats::Interval& noise_scale_samples);

// The batch at which the efficiency has fallen to `efficiency`, in (0, 1]: (phi + B0) / e - phi; infinite for an
// infinite noise scale below 1.
double batch_at_efficiency(double noise_scale_samples, double base_batch, double efficiency);

// The limits of the linear rule. Its rate is 1 / efficiency times the rate that the gain allows. On a quadratic bowl, a
// rate of x times the best one achieves 2x - x^2 of the loss reduction of the best rate (McCandlish et al. 2018,
// section 2.2, equation 2.5): 94 % at 1.25 and nothing at 2. This assumes that the base rate was the best of its batch,
// so the thresholds show where to begin to look.
inline constexpr double amber_efficiency = 0.8;  // from here the linear rate is 1.25 times too high
inline constexpr double red_efficiency = 0.5;    // … twice too high, at the critical batch B = phi + 2 B0
enum class Light { green, amber, red };
const char* to_string(Light);
Light linear_rule_light(double noise_scale_samples, double base_batch, double batch);

// The largest number of workers whose global batch keeps the efficiency above `efficiency`, for each end of the
// interval; 0 where one worker's batch does not, `most_workers` where it never falls to it.
struct WorkerLimits {
  std::int64_t low = 0, mid = 0, high = 0;
  bool operator==(const WorkerLimits&) const = default;
};
inline constexpr std::int64_t most_workers = 1'000'000'000;
WorkerLimits workers_at_efficiency(const stats::Interval& noise_scale_samples, double base_batch,
                                   double samples_per_worker, double efficiency);

}  // namespace ddpprof::learning_rate
