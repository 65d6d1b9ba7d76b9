#include "analysis/report/html/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/units/units.hpp"

namespace ddpprof::report::html {
namespace {

constexpr double most_linear_span = 20.0;  // largest / smallest; above it small values are not visible on a linear axis
constexpr int most_ticks = 9;

std::vector<double> positive(std::span<const double> values) {
  std::vector<double> found;
  for (const double value : values)
    if (std::isfinite(value) && value > 0) found.push_back(value);
  if (found.empty()) found.push_back(1.0);
  return found;
}

// Returns the smallest 1, 2 or 5 times a power of ten that is at least `size`.
double round_step(double size) {
  const double decade = std::pow(10.0, std::floor(std::log10(size)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * decade >= size * (1 - 1e-9)) return digit * decade;
  return 10.0 * decade;
}

}  // namespace

double Axis::at(double value) const {
  const double v = log_ ? (value > 0 ? std::log2(value) : low_) : value;
  return std::clamp((v - low_) / (high_ - low_), 0.0, 1.0);
}

Axis Axis::powers_of_two(std::string title, std::span<const double> values, double margin) {
  const std::vector<double> known = positive(values);
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  Axis axis;
  axis.title = std::move(title);
  axis.log_ = true;
  axis.low_ = std::log2(*least) - margin;
  axis.high_ = std::log2(*most) + margin;
  const int first = static_cast<int>(std::ceil(axis.low_)), last = static_cast<int>(std::floor(axis.high_));
  const int every = std::max(1, (last - first + most_ticks) / most_ticks);
  for (int power = first; power <= last; ++power)
    if (power % every == 0) axis.ticks.push_back({std::exp2(power), ""});
  return axis;
}

Axis Axis::workers(std::span<const double> values) {
  Axis axis = powers_of_two("workers N", values, 0.3);
  std::erase_if(axis.ticks, [](const Tick& tick) { return tick.value < 1.0; });
  for (Tick& tick : axis.ticks) tick.label = fmt::format("{:.0f}", tick.value);
  return axis;
}

Axis Axis::bytes(std::span<const double> values) {
  Axis axis = powers_of_two("size", values, 0.5);
  constexpr double most = 0x1p62;  // below the limit of int64
  std::erase_if(axis.ticks, [](const Tick& tick) { return tick.value < 1.0 || tick.value > most; });
  for (Tick& tick : axis.ticks) tick.label = units::format_bytes(static_cast<std::int64_t>(tick.value));
  return axis;
}

Axis Axis::quantity(std::string title, std::string_view unit, std::span<const double> values) {
  const std::vector<double> known = positive(values);
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  if (*most > most_linear_span * *least) return logarithmic(std::move(title), unit, values);
  Axis axis;
  axis.title = std::move(title);
  const double step = round_step(*most / 5.0);
  const int count = static_cast<int>(std::ceil(*most * 1.02 / step));
  axis.high_ = step * count;
  for (int i = 0; i <= count; ++i)
    axis.ticks.push_back({step * i, i == 0 ? "0" : units::format_quantity(step * i, unit)});
  return axis;
}

Axis Axis::logarithmic(std::string title, std::string_view unit, std::span<const double> values) {
  const std::vector<double> known = positive(values);
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  Axis axis;
  axis.title = std::move(title);
  axis.log_ = true;
  axis.low_ = std::log2(*least) - 0.25;
  axis.high_ = std::log2(*most) + 0.25;
  const double decades = (axis.high_ - axis.low_) * std::log10(2.0);
  const std::vector<double> digits = decades < 2.5 ? std::vector{1.0, 2.0, 5.0} : std::vector{1.0};
  const int every = std::max(1, static_cast<int>(std::ceil(decades / most_ticks)));
  const int first = static_cast<int>(std::floor(axis.low_ * std::log10(2.0)));
  for (int power = first; power <= first + static_cast<int>(decades) + 2; ++power) {
    if (power % every != 0) continue;
    for (const double digit : digits) {
      const double value = digit * std::pow(10.0, power);
      const double where = std::log2(value);
      if (where >= axis.low_ && where <= axis.high_) axis.ticks.push_back({value, units::format_quantity(value, unit)});
    }
  }
  return axis;
}

Axis Axis::share(std::string title, std::span<const double> values) {
  double most = 1.0;
  for (const double value : values)
    if (std::isfinite(value)) most = std::max(most, value);
  Axis axis;
  axis.title = std::move(title);
  const double step = most <= 1.25 ? 0.25 : round_step(most / 5.0);
  const int count = static_cast<int>(std::ceil(most / step - 1e-9));
  axis.high_ = step * count;
  for (int i = 0; i <= count; ++i) axis.ticks.push_back({step * i, fmt::format("{:.0f} %", 100.0 * step * i)});
  return axis;
}

}  // namespace ddpprof::report::html
