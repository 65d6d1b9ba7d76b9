// Puts a rank's clock on rank 0's: offset and drift from exchanges at the start and the end of a run.
//
// One exchange: this rank notes its clock at the exchange's middle, rank 0 answers with its own. The answer was given
// at some moment of the round trip, so the offset is known to ± half of it (Cristian 1989): exchanges with the smallest
// round trip are used.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace ddpprof::store {

struct ClockExchange {
  std::int64_t local_ns = 0;      // middle of the exchange on this rank's clock
  std::int64_t reference_ns = 0;  // rank 0's clock as it answered
  std::int64_t round_trip_ns = 0;
};

enum class ClockReference { same_clock, exchange, unknown };
const char* to_string(ClockReference);  // as in shard.clock_reference

struct ClockAlignment {
  ClockReference reference = ClockReference::unknown;
  std::int64_t offset_ns = 0;  // add to this rank's time to get rank 0's, at at_ns
  double drift_ppb = 0.0;      // ns the offset grows per second after at_ns
  std::int64_t at_ns = 0;
  std::optional<std::int64_t> uncertainty_ns;      // none: unknown
  std::optional<std::int64_t> measured_offset_ns;  // the exchanges' own offset at at_ns
};

// `same_boot`: this rank and rank 0 have equal boot ids and so one CLOCK_MONOTONIC; offset, drift and uncertainty are
// then 0 and the exchanges only serve as a check. Exchanges that fall into two bursts give a drift, provided it is
// known better than 500 ppm, the fastest that NTP slews a clock; with one burst it is 0. Exchanges with a round trip <
// 0 are left out.
// The uncertainty holds for all of `first_ns` to `last_ns`, the shard's events: where no drift is known, two clocks may
// part by unknown_drift_ppm of the time since the exchange, twice the ± 50 ppm that PC crystals are sold with.
inline constexpr std::int64_t unknown_drift_ppm = 100;
struct EventSpan {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();  // before first_ns: no events
  void add(std::int64_t time_ns) {
    if (time_ns < first_ns) first_ns = time_ns;
    if (time_ns > last_ns) last_ns = time_ns;
  }
};
ClockAlignment align_clock(std::span<const ClockExchange>, bool same_boot, EventSpan events = {});

// A time of this rank on rank 0's clock; the same as the views aligned_step and aligned_collective compute.
std::int64_t to_reference_ns(const ClockAlignment&, std::int64_t local_ns);

}  // namespace ddpprof::store
