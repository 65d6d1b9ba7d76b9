// Decimal text to whole nanoseconds, exactly: a trace's microseconds have more digits than a double holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpprof::import {

// A JSON number in microseconds, as `1669783687464181`, `4458676522690.655` or `1.5e3`, in nanoseconds. Digits beyond
// the nanosecond round to the nearest, halves away from zero. None for what is no number (NaN, Infinity, "12us") and
// for what int64 cannot hold.
std::optional<std::int64_t> microseconds_to_ns(std::string_view text);

// A JSON number that is whole, fractions of zero allowed (`3`, `3.0`, `3e2`); none otherwise.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace ddpprof::import
