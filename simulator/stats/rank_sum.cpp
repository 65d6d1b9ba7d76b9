#include "simulator/stats/rank_sum.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ddpprof::stats {

double rank_sum(std::span<const double> first, std::span<const double> second) {
  const auto m = static_cast<double>(first.size()), n = static_cast<double>(second.size()), all = m + n;
  if (first.empty() || second.empty()) return 1.0;
  std::vector<std::pair<double, bool>> values;  // the value, and whether it is one of the first
  for (const double value : first) values.emplace_back(value, true);
  for (const double value : second) values.emplace_back(value, false);
  std::sort(values.begin(), values.end());
  double ranks = 0.0, ties = 0.0;  // of the first; sum of t³ − t
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin;
    double firsts = 0.0;
    while (end < values.size() && values[end].first == values[begin].first) firsts += values[end++].second ? 1.0 : 0.0;
    const auto tied = static_cast<double>(end - begin);
    ranks += firsts * (static_cast<double>(begin) + 0.5 * (tied + 1.0));
    ties += tied * (tied * tied - 1.0);
    begin = end;
  }
  const double u = ranks - 0.5 * m * (m + 1.0);
  const double variance = m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
  if (!(variance > 0.0)) return 1.0;
  return 0.5 * std::erfc((u - 0.5 * m * n - 0.5) / std::sqrt(2.0 * variance));
}

}  // namespace ddpprof::stats
