#include "simulator/units/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace ddpprof::units {
namespace {

struct UnitStep {
  double factor;
  const char* unit;
};
constexpr UnitStep time_steps[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
constexpr UnitStep rate_steps[] = {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1.0, "B/s"}};
constexpr UnitStep frequency_steps[] = {{1e9, "GHz"}, {1e6, "MHz"}, {1e3, "kHz"}, {1.0, "Hz"}};
constexpr UnitStep per_byte_steps[] = {{1e-6, "s/MB"}, {1e-9, "ms/MB"}, {1e-12, "µs/MB"}, {1e-15, "ns/MB"}};
constexpr UnitStep size_steps[] = {{1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1.0, "B"}};

std::span<const UnitStep> steps_of(std::string_view base_unit) {
  if (base_unit == "s") return time_steps;
  if (base_unit == "bytes/s") return rate_steps;
  if (base_unit == "s/byte") return per_byte_steps;
  if (base_unit == "Hz") return frequency_steps;
  if (base_unit == "B") return size_steps;
  return {};
}

// Returns the largest unit in which `magnitude` is at least 1, otherwise the smallest unit.
UnitStep step_for(std::string_view base_unit, double magnitude) {
  const auto steps = steps_of(base_unit);
  for (const UnitStep& step : steps) {
    if (magnitude >= step.factor * (1.0 - 1e-12)) return step;
  }
  return steps.empty() ? UnitStep{1.0, nullptr} : steps.back();
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};  // the largest double has 309 digits before its point
  const int size = std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return {text.data(), static_cast<std::size_t>(size)};
}

int decimals_for(double magnitude, int digits) {
  if (!(magnitude > 0)) return 0;
  return digits - 1 - static_cast<int>(std::floor(std::log10(magnitude) + 1e-12));
}

// Without zeros at the end of a fraction: "1.50" is "1.5", "2.00" is "2".
std::string trimmed(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

}  // namespace

Scale choose_scale(std::string_view base_unit, std::span<const double> values) {
  std::vector<double> magnitudes;
  for (const double value : values) {
    if (std::isfinite(value) && value != 0.0) magnitudes.push_back(std::fabs(value));
  }
  std::sort(magnitudes.begin(), magnitudes.end());
  Scale scale;
  scale.unit = std::string(base_unit);
  if (magnitudes.empty()) return scale;
  const UnitStep step = step_for(base_unit, magnitudes[magnitudes.size() / 2]);
  scale.factor = step.factor;
  if (step.unit != nullptr) scale.unit = step.unit;
  scale.decimals = std::clamp(decimals_for(magnitudes.front() / step.factor, 3), step.unit != nullptr ? 1 : 0, 3);
  return scale;
}

std::string format_number(double value, const Scale& scale) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
  std::string text = fixed(value / scale.factor, scale.decimals);
  if (text.starts_with("-") && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string format_significant(double value, int digits) {
  if (!std::isfinite(value) || value == 0.0) return format_number(value, Scale{});
  // Rounded first: 9.9996 has one digit more before the point than its logarithm says.
  const double unit = std::pow(10.0, std::floor(std::log10(std::fabs(value))) + 1.0 - digits);
  const double rounded = std::round(value / unit) * unit;
  const std::string text = fixed(rounded, std::clamp(decimals_for(std::fabs(rounded), digits), 0, 12));
  return text.find_first_not_of("-0.") == std::string::npos ? "0" : text;  // smaller than all decimals
}

std::string format_measured(double value, double error, std::string_view base_unit) {
  if (!std::isfinite(value) || !std::isfinite(error)) return format_quantity(value, base_unit);
  // 0 has no magnitude, so the unit of the error is used.
  const UnitStep step = step_for(base_unit, value != 0.0 ? std::fabs(value) : std::fabs(error));
  const std::string unit = step.unit != nullptr ? step.unit : std::string(base_unit);
  const std::string text =
      trimmed(format_significant(value / step.factor, 3)) + " ± " + trimmed(format_significant(error / step.factor, 2));
  return unit.empty() ? text : text + " " + unit;
}

std::string format_quantity(double value, std::string_view base_unit, int digits) {
  if (!std::isfinite(value)) return format_number(value, Scale{}) + " " + std::string(base_unit);
  const UnitStep step = step_for(base_unit, std::fabs(value));
  const std::string unit = step.unit != nullptr ? step.unit : std::string(base_unit);
  const double shown = value / step.factor;
  const std::string number = trimmed(format_significant(shown, digits));
  return unit.empty() ? number : number + " " + unit;
}

std::string percent(double share, int digits) { return format_significant(100.0 * share, digits) + " %"; }

std::string percent_fixed(double share, int decimals) { return fixed(100.0 * share, decimals) + " %"; }

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  if (seconds < 59.95) return format_quantity(seconds, "s");
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  if (days > 0) return text(days) + " d " + text(hours % 24) + " h";
  if (hours > 0) return text(hours) + " h " + text(minutes % 60) + " min";
  return text(minutes) + " min " + text(whole % 60) + " s";
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  const auto two_digits = [](std::int64_t number) { return (number < 10 ? ":0" : ":") + std::to_string(number); };
  if (whole < 3600) return std::to_string(whole / 60) + two_digits(whole % 60) + " min";
  return std::to_string(whole / 3600) + two_digits(whole / 60 % 60) + " h";
}

std::string chance(double p) {
  if (p < 0.001) return "p < 0.001";
  return "p = " + (p < 0.995 ? format_significant(p, 2) : std::string("1"));
}

std::string format_bytes(std::int64_t bytes) {
  constexpr const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t i = 0;
  while (std::fabs(value) >= 1024.0 && i + 1 < std::size(names)) {
    value /= 1024.0;
    ++i;
  }
  if (value == std::floor(value)) return fixed(value, 0) + " " + names[i];
  return fixed(value, std::clamp(decimals_for(std::fabs(value), 3), 0, 2)) + " " + names[i];
}

}  // namespace ddpprof::units
