// Reads quantities that people write: "25Gbit/s", "0.5 x".
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace ddpprof::units {

struct Unit {
  std::string_view name;
  double in_base;  // 1 of it in the base unit
};

// Units of rates, in bytes/s.
inline constexpr std::array rate_units = {Unit{"bit/s", 0.125}, Unit{"Mbit/s", 0.125e6}, Unit{"Gbit/s", 0.125e9},
                                          Unit{"B/s", 1.0},     Unit{"MB/s", 1e6},       Unit{"GB/s", 1e9}};

// Returns a number above 0 and the text after it; nothing if the text does not begin with such a number.
std::optional<std::pair<double, std::string_view>> read_number(std::string_view text);

// Returns bytes/s of a rate such as 25Gbit/s or 3GB/s; nothing for any other text.
std::optional<double> parse_rate(std::string_view text);

}  // namespace ddpprof::units
