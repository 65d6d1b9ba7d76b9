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
  // `first` is earlier than `last`. With equal CUPTI times only the offset is used.
  static CuptiClock between(Pair first, Pair last) {
    CuptiClock clock;
    clock.origin_ = first;
    const auto cupti_span = static_cast<double>(last.cupti_ns - first.cupti_ns);
    // The rates of two clocks differ by parts per million. A larger difference is a bad reading.
    if (cupti_span > 0) {
      const double rate = static_cast<double>(last.monotonic_ns - first.monotonic_ns) / cupti_span;
      if (rate > 0.999 && rate < 1.001) clock.drift_ = rate - 1.0;
    }
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
