#include "simulator/units/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ddpprof::units {

std::optional<std::pair<double, std::string_view>> read_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || !(value > 0.0)) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return std::pair{value, rest};
}

std::optional<double> parse_rate(std::string_view text) {
  const auto number = read_number(text);
  if (!number) return std::nullopt;
  const auto unit = std::ranges::find(rate_units, number->second, &Unit::name);
  return unit == rate_units.end() ? std::nullopt : std::optional(number->first * unit->in_base);
}

}  // namespace ddpprof::units
