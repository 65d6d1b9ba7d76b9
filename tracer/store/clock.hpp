// Aligns a rank's clock with rank 0's: offset and drift from exchanges at the start and the end of a run.
//
// In one exchange this rank stores its clock at the middle of the exchange, and rank 0 answers with its own clock. Rank
// 0 answered at some moment of the round trip, so the offset is known to ± half the round trip (Cristian 1989). The
// exchanges with the smallest round trip are used.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace ddpprof::store {

struct ClockExchange {
  std::int64_t local_ns = 0;      // middle of the exchange on this rank's clock
  std::int64_t reference_ns = 0;  // rank 0's clock at its answer
  std::int64_t round_trip_ns = 0;
};

enum class ClockReference { same_clock, exchange, unknown };
const char* to_string(ClockReference);  // the text in column shard.clock_reference

struct ClockAlignment {
  ClockReference reference = ClockReference::unknown;
  std::int64_t offset_ns = 0;  // rank 0's time minus this rank's time, at at_ns
  double drift_ppb = 0.0;      // growth of the offset in ns per second after at_ns
  std::int64_t at_ns = 0;
  std::optional<std::int64_t> uncertainty_ns;      // nullopt: unknown
  std::optional<std::int64_t> measured_offset_ns;  // the offset from the exchanges alone, at at_ns
};

// `same_boot`: this rank and rank 0 have equal boot ids and thus share one CLOCK_MONOTONIC. Offset, drift and
// uncertainty are then 0, and the exchanges are only a check. Exchanges in two bursts give a drift, if its error is
// below 500 ppm (the fastest rate at which NTP slews a clock). With one burst the drift is 0. Exchanges with a negative
// round trip are ignored. The uncertainty covers the shard's events, `first_ns` to `last_ns`. Without a known drift it
// includes unknown_drift_ppm of the time since the exchange: twice the usual tolerance of PC crystals, ± 50 ppm.
inline constexpr std::int64_t unknown_drift_ppm = 100;
struct EventSpan {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();  // smaller than first_ns: no events
  void add(std::int64_t time_ns) {
    if (time_ns < first_ns) first_ns = time_ns;
    if (time_ns > last_ns) last_ns = time_ns;
  }
};
ClockAlignment align_clock(std::span<const ClockExchange>, bool same_boot, EventSpan events = {});

// Converts a time of this rank to rank 0's clock, exactly as the views aligned_step and aligned_collective do.
std::int64_t to_reference_ns(const ClockAlignment&, std::int64_t local_ns);

}  // namespace ddpprof::store
