// The gradient noise scale: the variance of a gradient between samples over its squared length.
//
// phi = tr(Sigma) / |G|^2 in samples, with G the true gradient and Sigma the covariance of one sample's. A gradient of
// B samples has E|g_B|^2 = |G|^2 + tr(Sigma) / B, so two batches b < B tell both (McCandlish et al. 2018, appendix
// A.1):
//   |G|^2 = (B |g_B|^2 - b |g_b|^2) / (B - b),   tr(Sigma) = (|g_b|^2 - |g_B|^2) / (1 / b - 1 / B).
// Each is unbiased, their ratio is not: average both, then divide. Of one step either can be negative.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ddpprof::learning_rate {

struct NoiseSample {
  double gradient_sqr = 0.0;  // |G|^2, in the gradient's unit squared
  double trace = 0.0;         // tr(Sigma), the same times samples
  bool operator==(const NoiseSample&) const = default;
};

// Estimate from two gradients of the same weights. Throws std::invalid_argument unless 0 < small_batch < large_batch,
// and for a squared norm that is negative or not finite.
NoiseSample noise_of_batches(double small_batch, double small_norm_sqr, double large_batch, double large_norm_sqr);

// Estimate from one data-parallel step: the squared norm of each rank's gradient before the all-reduce, of
// `samples_per_rank` samples each, and that of the mean after it. Throws as noise_of_batches, and for fewer than two
// ranks. With accumulation, the micro-batches of one rank can take the ranks' place.
NoiseSample noise_of_ranks(std::span<const double> rank_norms_sqr, double mean_norm_sqr, double samples_per_rank);

// Estimate from one step as its ranks recorded it. Two ranks or more: their gradients against the averaged one, as
// noise_of_ranks. One rank: the first of its micro-batches against the whole step. Returns nothing for one rank without
// accumulation, for a norm that is negative or not finite, and for samples or micro-batches below 1.
std::optional<NoiseSample> noise_of_step(std::span<const double> rank_norms_sqr, double mean_norm_sqr,
                                         std::int64_t samples_per_rank, std::int64_t micro_batches);

// Exponential moving averages of both, each corrected for its beginning at 0 (as Adam's moments are), and their ratio.
class MovingNoiseScale {
 public:
  // Weight of what was before, in [0, 1): 0.99 remembers about 100 steps. Throws std::invalid_argument outside.
  explicit MovingNoiseScale(double keep);

  void add(const NoiseSample&);

  // Nothing before the first sample.
  std::optional<NoiseSample> average() const;
  // Returns tr(Sigma) / |G|^2 of the averages, in samples. Returns nothing without samples, or if one of the averages
  // is not above 0: the gradient, or its noise, is then too small to be seen over these steps.
  std::optional<double> noise_scale_samples() const;

 private:
  double keep_;
  double missing_ = 1.0;  // keep^n: the weight that is still at the zeros of the beginning
  NoiseSample sum_;
};

}  // namespace ddpprof::learning_rate
