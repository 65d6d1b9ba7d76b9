#include "simulator/collective/curve.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "simulator/stats/summary.hpp"

namespace ddpprof::collective {
namespace {

struct Pool {
  double sum_s;
  std::size_t count;
  double mean_s() const { return sum_s / static_cast<double>(count); }
};

constexpr double least_hop_s = 1e-6;  // of a small message in a tree: no network of GPUs is faster

// Returns the nondecreasing sequence that is nearest to the times.
void make_rising(std::vector<SizeTime>& points) {
  std::vector<Pool> pools;
  for (const SizeTime& point : points) {
    pools.push_back({point.time_s, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean_s() > pools.back().mean_s()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum_s += last.sum_s;
      pools.back().count += last.count;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools)
    for (std::size_t i = 0; i < pool.count; ++i) points[at++].time_s = pool.mean_s();
}

}  // namespace

Curve::Curve(std::int64_t ranks, std::span<const SizeTime> measured, std::int64_t hosts)
    : ranks_(ranks), hosts_(hosts) {
  if (ranks < 1) throw std::invalid_argument("curve: " + std::to_string(ranks) + " ranks, expected 1 or more");
  if (measured.empty()) throw std::invalid_argument("curve: no measured size, expected at least one");
  std::map<double, std::vector<double>> by_size;
  for (const SizeTime& point : measured) {
    if (!(point.bytes > 0.0) || !std::isfinite(point.bytes) || !(point.time_s > 0.0) || !std::isfinite(point.time_s))
      throw std::invalid_argument("curve: " + std::to_string(point.bytes) + " bytes in " +
                                  std::to_string(point.time_s) + " s, expected both above 0");
    by_size[point.bytes].push_back(point.time_s);
  }
  for (const auto& [bytes, times] : by_size) points_.push_back({bytes, stats::median(times)});
  make_rising(points_);
}

Curve::Regime Curve::regime(double bytes) const {
  const SizeTime& first = points_.front();
  const bool line = points_.size() > 1;
  if (bytes >= first.bytes) return line ? line_at(bytes) : Regime{0.0, first.time_s / first.bytes};
  // The line through the smallest sizes. Between large sizes, noise may give it a latency below 0.
  const double least_s =
      least_hop_s * 2.0 * std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(1, ranks_))));
  const double latency_s = std::min(first.time_s, std::max(line ? line_at(first.bytes).latency_s : 0.0, least_s));
  return {latency_s, (first.time_s - latency_s) / first.bytes};
}

Curve::Regime Curve::line_at(double bytes) const {
  auto above = std::lower_bound(points_.begin(), points_.end(), bytes,
                                [](const SizeTime& point, double value) { return point.bytes < value; });
  if (above == points_.end()) --above;
  if (above == points_.begin()) ++above;
  const SizeTime& low = *(above - 1);
  const double slope = (above->time_s - low.time_s) / (above->bytes - low.bytes);
  return {low.time_s - slope * low.bytes, slope};
}

double Curve::time_s(double bytes) const {
  const Regime own = regime(bytes);
  return own.latency_s + own.s_per_byte * bytes;
}

double Curve::time_s(double bytes, std::int64_t ranks) const {
  return ranks == ranks_ ? time_s(bytes) : cost(bytes, ranks).total_s();
}

Cost Curve::cost(double bytes, std::int64_t ranks) const {
  if (ranks < 1) throw std::invalid_argument("curve: " + std::to_string(ranks) + " ranks, expected 1 or more");
  if (ranks == 1 && ranks_ != 1) return {};
  if (ranks_ == 1 && ranks != 1)
    throw std::invalid_argument("curve: a curve of one rank cannot be scaled to " + std::to_string(ranks) + " ranks");
  const auto own = static_cast<double>(ranks_), asked = static_cast<double>(ranks);
  const double steps = ranks == ranks_ ? 1.0 : (asked - 1.0) / (own - 1.0);
  const double share = steps * own / asked;
  const Regime here = regime(bytes);
  // At a switch of protocols, the line may have a negative latency. The whole time is then transfer of bytes.
  const double latency_s = std::max(0.0, here.latency_s);
  const double carried_s = here.latency_s + here.s_per_byte * bytes - latency_s;
  return {steps * latency_s, share * carried_s, 0.0};
}

double Curve::hop_s() const {
  if (points_.size() < 2 || ranks_ < 2) return 0.0;
  const double slope = (points_[1].time_s - points_[0].time_s) / (points_[1].bytes - points_[0].bytes);
  return std::max(0.0, points_[0].time_s - slope * points_[0].bytes) / (2.0 * static_cast<double>(ranks_ - 1));
}

double Curve::byte_s() const {
  if (ranks_ < 2) return 0.0;
  double slope = points_.size() == 1 ? points_[0].time_s / points_[0].bytes : 0.0;
  // The last sizes may have been averaged to equal times.
  for (std::size_t i = points_.size() - 1; i > 0 && slope == 0.0; --i)
    slope = (points_[i].time_s - points_[i - 1].time_s) / (points_[i].bytes - points_[i - 1].bytes);
  return slope * static_cast<double>(ranks_) / (2.0 * static_cast<double>(ranks_ - 1));
}

}  // namespace ddpprof::collective
