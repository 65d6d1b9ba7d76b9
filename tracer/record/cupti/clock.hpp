// Converts CUPTI's time to CLOCK_MONOTONIC.
#pragma once

#include <cmath>
#include <cstdint>

namespace ddpprof::record {

// If CUPTI takes its timestamps from our callback, they are CLOCK_MONOTONIC plus a constant (`ahead`). Otherwise two
// pairs of readings, at the start and the end of the time that a buffer covers, give offset and rate.
class CuptiClock {
 public:
  struct Pair {
    std::int64_t cupti_ns = 0;
    std::int64_t monotonic_ns = 0;
  };

  static CuptiClock identity() { return {}; }
  static CuptiClock ahead(std::int64_t ahead_ns) {  // offset to CLOCK_MONOTONIC
    CuptiClock clock;
    clock.origin_ = {ahead_ns, 0};
    return clock;
  }
  // The error of a pair is normally below a microsecond; it is at most half of the shortest reading. Over this distance
  // the error's effect on the rate is a few parts per million.
  static constexpr std::int64_t least_distance_ns = 500'000'000;

  // `first` is read before `last`. Pairs that are closer than `least_distance_ns` give only the offset. If CUPTI's
  // clock was set between the two readings, only `last` is used.
  static CuptiClock between(Pair first, Pair last) {
    CuptiClock clock;
    const std::int64_t cupti_ns = last.cupti_ns - first.cupti_ns;
    const std::int64_t monotonic_ns = last.monotonic_ns - first.monotonic_ns;
    clock.origin_ = first;
    if (cupti_ns >= 0 && monotonic_ns < least_distance_ns) return clock;
    // The rates of two clocks differ by parts per million. More is a bad reading, or a clock that was set.
    const auto difference_ns = static_cast<double>(monotonic_ns - cupti_ns), span_ns = static_cast<double>(cupti_ns);
    if (std::abs(difference_ns) < 0.001 * span_ns)
      clock.drift_ = difference_ns / span_ns;
    else
      clock.origin_ = last;
    return clock;
  }

  std::int64_t to_monotonic_ns(std::uint64_t cupti_ns) const {
    const std::int64_t since = static_cast<std::int64_t>(cupti_ns) - origin_.cupti_ns;
    return origin_.monotonic_ns + since + std::llround(static_cast<double>(since) * drift_);
  }

 private:
  Pair origin_;
  double drift_ = 0;
};

}  // namespace ddpprof::record
