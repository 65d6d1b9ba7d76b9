#include "analysis/fit/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ddpprof::fit {
namespace {

std::string number(double value, const char* unit) { return number_text(value) + " " + unit; }

}  // namespace

std::string number_text(double value) {
  const double size = std::abs(value);
  char text[32];
  if (size != 0.0 && (size < 1e-4 || size >= 1e7)) {
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
  }
  const int digits = size == 0.0 ? 0 : std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 7);
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  std::string shown = text;
  if (shown.find('.') != std::string::npos) {
    shown.erase(shown.find_last_not_of('0') + 1);
    if (shown.back() == '.') shown.pop_back();
  }
  return shown;
}

std::string percent(double share) { return number(100.0 * share, "%"); }

std::string time_text(double seconds) {
  const double size = std::abs(seconds);
  if (size < 1e-6) return number(seconds * 1e9, "ns");
  if (size < 1e-3) return number(seconds * 1e6, "µs");
  if (size < 1.0) return number(seconds * 1e3, "ms");
  return number(seconds, "s");
}

std::string rate_text(double bytes_per_s) {
  if (bytes_per_s < 1e6) return number(bytes_per_s * 1e-3, "kB/s");
  if (bytes_per_s < 1e9) return number(bytes_per_s * 1e-6, "MB/s");
  return number(bytes_per_s * 1e-9, "GB/s");
}

std::string bytes_text(std::int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  if (bytes < (1 << 20)) return number(size / 1024.0, "KiB");
  return number(size / (1 << 20), "MiB");
}

}  // namespace ddpprof::fit
