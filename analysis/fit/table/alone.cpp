#include "analysis/fit/table/alone.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double least_noise = 0.03;  // of a measured step time

}  // namespace

Alone::Alone(const std::vector<StepRow>& rows) {
  std::map<std::int64_t, std::vector<double>> by_batch;
  for (const StepRow& row : rows)
    if (row.workers == 1 && row.step_s > 0.0 && std::isfinite(row.step_s))
      by_batch[row.batch_per_worker].push_back(row.step_s / static_cast<double>(row.accumulation));
  std::vector<BatchPoint> points;
  for (const auto& [batch, times] : by_batch) {
    medians_.emplace_back(batch, stats::median(times));
    points.push_back({1, batch, medians_.back().second, std::max(least_noise, summarise(times).relative_error), 1});
  }
  law_ = fit_batches(std::move(points));
}

void Alone::clear() {
  medians_.clear();
  law_ = {};
}

bool Alone::beyond(std::int64_t batch) const {
  return medians_.size() > 1 && (batch < medians_.front().first || batch > medians_.back().first);
}

std::int64_t Alone::nearest_end(std::int64_t batch) const {
  return batch < medians_.front().first ? medians_.front().first : medians_.back().first;
}

double Alone::compute_s(std::int64_t batch) const {
  if (medians_.size() == 1) return medians_.front().second;  // StepTable refuses every other batch
  const auto b = static_cast<double>(batch);
  if (beyond(batch) && law_.usable) {
    const auto& [end, end_s] = batch < medians_.front().first ? medians_.front() : medians_.back();
    return end_s * law_.ratio(static_cast<double>(end), b);
  }
  auto above = std::lower_bound(medians_.begin(), medians_.end(), std::pair{batch, 0.0});
  above = std::clamp(above, medians_.begin() + 1, medians_.end() - 1);
  const auto& [b0, t0] = *(above - 1);
  const auto& [b1, t1] = *above;
  const double share = (b - static_cast<double>(b0)) / static_cast<double>(b1 - b0);
  // Beyond the ends, a line through noise may fall to 0. So the time is at least half of the shorter one, scaled with
  // the batch.
  return std::max(t0 + share * (t1 - t0), 0.5 * std::min(t0, t1) * std::min(1.0, b / static_cast<double>(b0)));
}

double Alone::drawn_factor(std::int64_t batch, stats::Random& random) const {
  if (!beyond(batch) || !law_.usable) return 1.0;
  double share = random.uniform();
  const BatchLaw* law = &law_.laws.front();
  for (const BatchLaw& one : law_.laws) {
    if (!(one.weight > 0.0)) break;  // laws are sorted by weight, the largest first
    law = &one;
    share -= one.weight;
    if (share <= 0.0) break;
  }
  std::vector<double> normals(law->solution.x.size());
  for (double& normal : normals) normal = random.normal();
  const double own = draw(law->problem, law->solution, normals).front();
  const auto from = static_cast<double>(nearest_end(batch)), to = static_cast<double>(batch);
  const double bend = std::exp(batch_exponent_sd * law_.beyond(to) * random.normal());
  return law->growth(to, own) / law->growth(from, own) * bend / law_.ratio(from, to);
}

}  // namespace ddpprof::fit
