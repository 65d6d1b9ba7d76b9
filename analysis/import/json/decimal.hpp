// Converts decimal text to whole nanoseconds exactly: a trace's microseconds have more digits than a double holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpprof::import {

// Converts a JSON number in microseconds, such as `1669783687464181`, `4458676522690.655` or `1.5e3`, to nanoseconds.
// Digits beyond the nanosecond are rounded to the nearest, halves away from zero. Returns none if the text is not a
// number (NaN, Infinity, "12us") or exceeds int64.
std::optional<std::int64_t> microseconds_to_ns(std::string_view text);

// Returns a JSON number if it is whole (`3`, `3.0`, `3e2`); none otherwise.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace ddpprof::import
