#include "gui/models/scaling/worker_counts.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <utility>

namespace ddpprof::gui::whatif {
namespace {

std::set<std::int64_t> marks(std::int64_t limit, std::span<const std::int64_t> measured) {
  std::set<std::int64_t> counts = {1, limit};
  for (std::int64_t n = 2; n <= limit; n *= 2) counts.insert(n);
  for (const std::int64_t n : measured)
    if (n >= 1 && n <= limit) counts.insert(n);
  return counts;
}

}  // namespace

std::vector<std::int64_t> curve_counts(std::int64_t limit, std::span<const std::int64_t> measured,
                                       std::int64_t chosen) {
  limit = std::max<std::int64_t>(1, limit);
  std::set<std::int64_t> counts = marks(limit, measured);
  // One place is reserved for the chosen N.
  const std::size_t room = most_counts - 1;
  const auto wanted = std::min<std::size_t>(room, static_cast<std::size_t>(limit));
  for (std::size_t parts = wanted; counts.size() < wanted && parts <= 16 * wanted; parts *= 2) {
    for (std::size_t i = 0; i <= parts && counts.size() < wanted; ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(parts);
      counts.insert(std::clamp<std::int64_t>(std::llround(std::pow(static_cast<double>(limit), at)), 1, limit));
    }
  }
  if (chosen >= 1 && chosen <= limit) counts.insert(chosen);
  return {counts.begin(), counts.end()};
}

std::vector<std::int64_t> table_counts(std::int64_t limit, std::span<const std::int64_t> measured,
                                       std::int64_t chosen) {
  std::set<std::int64_t> counts = marks(std::max<std::int64_t>(1, limit), measured);
  if (chosen >= 1) counts.insert(chosen);
  return {counts.begin(), counts.end()};
}

std::vector<std::int64_t> coarse_to_fine(std::span<const std::int64_t> counts, std::int64_t chosen) {
  std::vector<std::int64_t> order;
  if (counts.empty()) return order;
  std::vector<bool> taken(counts.size(), false);
  const auto take = [&](std::size_t i) {
    if (!taken[i]) order.push_back(counts[i]);
    taken[i] = true;
  };
  const auto at = std::find(counts.begin(), counts.end(), chosen);
  if (at != counts.end()) take(static_cast<std::size_t>(at - counts.begin()));
  take(0);
  take(counts.size() - 1);
  // A queue processes all gaps of one size before the smaller ones.
  std::deque<std::pair<std::size_t, std::size_t>> gaps = {{0, counts.size() - 1}};
  while (!gaps.empty()) {
    const auto [low, high] = gaps.front();
    gaps.pop_front();
    if (high - low < 2) continue;
    const std::size_t middle = low + (high - low) / 2;
    take(middle);
    gaps.emplace_back(low, middle);
    gaps.emplace_back(middle, high);
  }
  return order;
}

}  // namespace ddpprof::gui::whatif
