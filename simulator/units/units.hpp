// How a number in a base unit is shown to people: a unit and decimals chosen for a whole column.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ddpprof::units {

// Division, not multiplication by 1e-9: it is correctly rounded, so 10000001 ns is 0.010000001 s.
constexpr double ns_to_s(double ns) { return ns / 1e9; }
constexpr double ns_to_s(std::int64_t ns) { return ns_to_s(static_cast<double>(ns)); }

struct Scale {
  double factor = 1.0;  // shown = value / factor
  std::string unit;     // e.g. "ms" for a column in s; "" for none
  int decimals = 0;
};

// The unit that makes the column's median magnitude at least 1, and the decimals (0 to 3, at least 1 where the
// unit was chosen) that give its smallest magnitude three significant digits. Zeros do not count.
Scale choose_scale(std::string_view base_unit, std::span<const double> values);

std::string format_number(double value, const Scale& scale);

// One value with its own unit and `digits` significant digits: "52.1 µs".
std::string format_quantity(double value, std::string_view base_unit, int digits = 3);

// "52.1 ± 1.2 µs": the value's unit for both, the error with two digits; without an error (NaN) the value alone.
std::string format_measured(double value, double error, std::string_view base_unit);

// `digits` significant digits, never an exponent: "0.0144", "2547", "129200".
std::string format_significant(double value, int digits);

std::string percent(double share, int digits = 2);          // `digits` significant digits: "3.2 %", "17 %"
std::string percent_fixed(double share, int decimals = 1);  // "3.2 %", "17.0 %"

std::string duration_text(double seconds);  // "2 d 3 h", "1 h 25 min", "12.3 s"; "–" if not finite

// Time that is left, for a clock that counts down: "45 s", "1:15 min", "2:05 h" (hours and minutes). `seconds`: 0 or
// more.
std::string clock_text(double seconds);

// A p-value: "p = 0.012", "p < 0.001".
std::string chance(double p);

std::string format_bytes(std::int64_t bytes);  // "256 MiB", "7.11 MiB", "40 B"

}  // namespace ddpprof::units
