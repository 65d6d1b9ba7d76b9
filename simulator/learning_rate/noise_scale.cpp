#include "simulator/learning_rate/noise_scale.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {
namespace {

void squared_norm(double value, const char* of) {
  if (!(value >= 0.0) || !std::isfinite(value))
    throw std::invalid_argument("noise scale: the squared norm of " + std::string(of) + " is " + std::to_string(value) +
                                ", expected 0 or more");
}

}  // namespace

NoiseSample noise_of_batches(double small_batch, double small_norm_sqr, double large_batch, double large_norm_sqr) {
  if (!(small_batch > 0.0) || !(large_batch > small_batch) || !std::isfinite(large_batch))
    throw std::invalid_argument("noise scale: batches of " + std::to_string(small_batch) + " and " +
                                std::to_string(large_batch) + " samples, expected a small one and a larger one");
  squared_norm(small_norm_sqr, "the small batch's gradient");
  squared_norm(large_norm_sqr, "the large batch's gradient");
  return {(large_batch * large_norm_sqr - small_batch * small_norm_sqr) / (large_batch - small_batch),
          (small_norm_sqr - large_norm_sqr) / (1.0 / small_batch - 1.0 / large_batch)};
}

NoiseSample noise_of_ranks(std::span<const double> rank_norms_sqr, double mean_norm_sqr, double samples_per_rank) {
  if (rank_norms_sqr.size() < 2)
    throw std::invalid_argument("noise scale: gradients of " + std::to_string(rank_norms_sqr.size()) +
                                " rank(s), expected two or more; one alone shows no difference, but the micro-batches "
                                "of an accumulation can take the ranks' place");
  double sum = 0.0;
  for (const double norm_sqr : rank_norms_sqr) {
    squared_norm(norm_sqr, "a rank's gradient");
    sum += norm_sqr;
  }
  const auto ranks = static_cast<double>(rank_norms_sqr.size());
  return noise_of_batches(samples_per_rank, sum / ranks, ranks * samples_per_rank, mean_norm_sqr);
}

std::optional<NoiseSample> noise_of_step(std::span<const double> rank_norms_sqr, double mean_norm_sqr,
                                         std::int64_t samples_per_rank, std::int64_t micro_batches) {
  const auto sound = [](double norm_sqr) { return norm_sqr >= 0.0 && std::isfinite(norm_sqr); };
  if (rank_norms_sqr.empty() || !std::ranges::all_of(rank_norms_sqr, sound) || !sound(mean_norm_sqr) ||
      micro_batches < 1)
    return std::nullopt;
  const bool alone = rank_norms_sqr.size() == 1;
  const std::int64_t part = alone ? samples_per_rank / micro_batches : samples_per_rank;
  if (part < 1 || (alone && micro_batches == 1)) return std::nullopt;
  const auto small = static_cast<double>(part);
  if (!alone) return noise_of_ranks(rank_norms_sqr, mean_norm_sqr, small);
  return noise_of_batches(small, rank_norms_sqr.front(), small * static_cast<double>(micro_batches), mean_norm_sqr);
}

MovingNoiseScale::MovingNoiseScale(double keep) : keep_(keep) {
  if (!(keep >= 0.0 && keep < 1.0))
    throw std::invalid_argument("noise scale: a moving average that keeps " + std::to_string(keep) +
                                ", expected 0 to below 1");
}

void MovingNoiseScale::add(const NoiseSample& sample) {
  if (!std::isfinite(sample.gradient_sqr) || !std::isfinite(sample.trace))
    throw std::invalid_argument("noise scale: a sample that is not finite");
  missing_ *= keep_;
  sum_.gradient_sqr = keep_ * sum_.gradient_sqr + (1.0 - keep_) * sample.gradient_sqr;
  sum_.trace = keep_ * sum_.trace + (1.0 - keep_) * sample.trace;
}

std::optional<NoiseSample> MovingNoiseScale::average() const {
  if (missing_ == 1.0) return std::nullopt;
  return NoiseSample{sum_.gradient_sqr / (1.0 - missing_), sum_.trace / (1.0 - missing_)};
}

std::optional<double> MovingNoiseScale::noise_scale_samples() const {
  const auto mean = average();
  if (!mean || !(mean->gradient_sqr > 0.0) || !(mean->trace > 0.0)) return std::nullopt;
  return mean->trace / mean->gradient_sqr;
}

}  // namespace ddpprof::learning_rate
