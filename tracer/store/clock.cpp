#include "tracer/store/clock.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ddpprof::store {
namespace {

constexpr double largest_drift_error_ppb = 500e3;

const ClockExchange& shortest(std::span<const ClockExchange> burst) {
  return *std::min_element(burst.begin(), burst.end(), [](const ClockExchange& a, const ClockExchange& b) {
    return a.round_trip_ns < b.round_trip_ns;
  });
}

std::int64_t offset_ns(const ClockExchange& exchange) { return exchange.reference_ns - exchange.local_ns; }
std::int64_t half_trip_ns(const ClockExchange& exchange) { return (exchange.round_trip_ns + 1) / 2; }

// Returns the index at which the second burst starts: after the longest pause, if it is at least half of the whole
// time. Returns 0 if there is one burst.
std::size_t second_burst(const std::vector<ClockExchange>& sorted) {
  std::size_t best = 0;
  std::int64_t longest_ns = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const std::int64_t pause_ns = sorted[i].local_ns - sorted[i - 1].local_ns;
    if (pause_ns > longest_ns) {
      longest_ns = pause_ns;
      best = i;
    }
  }
  if (best == 0 || longest_ns < (sorted.back().local_ns - sorted.front().local_ns + 1) / 2) return 0;
  return best;
}

}  // namespace

const char* to_string(ClockReference reference) {
  switch (reference) {
    case ClockReference::same_clock:
      return "same-clock";
    case ClockReference::exchange:
      return "exchange";
    case ClockReference::unknown:
      return "unknown";
  }
  return "unknown";
}

ClockAlignment align_clock(std::span<const ClockExchange> exchanges, bool same_boot, EventSpan events) {
  std::vector<ClockExchange> sorted;
  for (const ClockExchange& exchange : exchanges)
    if (exchange.round_trip_ns >= 0) sorted.push_back(exchange);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ClockExchange& a, const ClockExchange& b) { return a.local_ns < b.local_ns; });

  ClockAlignment alignment;
  if (!sorted.empty()) {
    const std::size_t split = second_burst(sorted);
    const std::span<const ClockExchange> all(sorted);
    ClockExchange first = shortest(split == 0 ? all : all.first(split));
    std::int64_t uncertainty = half_trip_ns(first);
    bool drift_known = false;
    if (split != 0) {
      const ClockExchange& last = shortest(all.subspan(split));
      const double seconds = static_cast<double>(last.local_ns - first.local_ns) * 1e-9;
      const double error_ppb = static_cast<double>(half_trip_ns(first) + half_trip_ns(last)) / seconds;
      if (error_ppb <= largest_drift_error_ppb) {
        alignment.drift_ppb = static_cast<double>(offset_ns(last) - offset_ns(first)) / seconds;
        uncertainty = std::max(uncertainty, half_trip_ns(last));
        drift_known = true;
      } else {
        first = shortest(all);
        uncertainty = half_trip_ns(first);
      }
    }
    if (!drift_known && events.first_ns <= events.last_ns) {
      const std::int64_t away_ns =
          std::max({std::int64_t{0}, first.local_ns - events.first_ns, events.last_ns - first.local_ns});
      uncertainty += away_ns / (1'000'000 / unknown_drift_ppm);
    }
    alignment.reference = ClockReference::exchange;
    alignment.offset_ns = offset_ns(first);
    alignment.measured_offset_ns = alignment.offset_ns;
    alignment.at_ns = first.local_ns;
    alignment.uncertainty_ns = uncertainty;
  }
  if (same_boot) {
    alignment.reference = ClockReference::same_clock;
    alignment.offset_ns = 0;
    alignment.drift_ppb = 0.0;
    alignment.uncertainty_ns = 0;
  }
  return alignment;
}

std::int64_t to_reference_ns(const ClockAlignment& alignment, std::int64_t local_ns) {
  const double drifted = static_cast<double>(local_ns - alignment.at_ns) * 1e-9 * alignment.drift_ppb;
  return local_ns + alignment.offset_ns + static_cast<std::int64_t>(drifted);
}

}  // namespace ddpprof::store
