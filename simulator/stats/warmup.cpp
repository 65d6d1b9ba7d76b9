#include "simulator/stats/warmup.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

constexpr double clip_sigmas = 5.0;
constexpr std::size_t batches_wanted = 10, largest_batch = 5;

std::vector<double> batch_means(std::span<const double> samples, std::size_t batch) {
  std::vector<double> means;
  for (std::size_t at = samples.size() % batch; at + batch <= samples.size(); at += batch)
    means.push_back(mean(samples.subspan(at, batch)));
  return means;
}

}  // namespace

std::size_t mser(std::span<const double> samples, std::size_t batch) {
  if (batch == 0 || samples.size() / batch < 2) {
    throw std::invalid_argument("mser: " + std::to_string(samples.size()) + " samples in batches of " +
                                std::to_string(batch) + ", expected two batches or more");
  }
  std::vector<double> means = batch_means(samples, batch);
  // Sums over the rest from the back, of differences from the last mean so that squares lose no digits.
  const double origin = means.back();
  const std::size_t k = means.size();
  std::size_t best = 0;
  double smallest = 0.0, sum = 0.0, squares = 0.0;
  bool any = false;
  for (std::size_t d = k; d-- > 0;) {
    const double value = means[d] - origin;
    sum += value;
    squares += value * value;
    if (d > k / 2) continue;
    const auto left = static_cast<double>(k - d);
    const double statistic = std::max(0.0, squares - sum * sum / left) / (left * left);
    if (!any || statistic <= smallest) {
      any = true;
      smallest = statistic;
      best = d;
    }
  }
  return best;
}

WarmupEnd warmup_end(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < minimum_warmup_samples) return {};
  const std::span<const double> later = samples.subspan(n / 2);
  const double center = median(later);
  const double reach = clip_sigmas * mad_sigma(later);
  std::vector<double> kept(samples.begin(), samples.end());
  if (reach > 0.0) {
    for (double& value : kept) value = std::clamp(value, center - reach, center + reach);
  }
  const std::size_t batch = std::clamp<std::size_t>(n / batches_wanted, 1, largest_batch);
  const std::size_t cut = mser(kept, batch);
  WarmupEnd end;
  end.settled = cut < n / batch / 2;
  end.steps = cut == 0 ? 0 : n % batch + cut * batch;
  return end;
}

}  // namespace ddpprof::stats
