// Selects the clock from which CUPTI takes the times of its records.
#pragma once

#include <cstdint>
#include <optional>

namespace ddpprof::record {

enum class CuptiTimestamps {
  callback,  // CUPTI calls a function of the tracer, which returns CLOCK_MONOTONIC plus a constant
  paired,    // CUPTI uses its own clock; paired readings of both clocks convert its times (CuptiClock)
};
const char* to_string(CuptiTimestamps timestamps);  // the word in DDPPROF_CUPTI_TIMESTAMPS

// Returns the value of DDPPROF_CUPTI_TIMESTAMPS, or nullopt if it is not set. Writes an unknown value to standard error
// and returns nullopt.
std::optional<CuptiTimestamps> timestamps_from_environment();

// Returns `paired` for a CUPTI before trace::first_cupti_with_sound_timestamp_callback and for an unknown version,
// otherwise `callback`. `cupti`: result of cuptiGetVersion.
CuptiTimestamps default_timestamps(std::optional<std::uint32_t> cupti);

}  // namespace ddpprof::record
