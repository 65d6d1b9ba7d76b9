// Shares and chances in words. Internal to the report library.
#pragma once

#include <fmt/format.h>

#include <string>

#include "simulator/units/units.hpp"

namespace ddpprof::report {

inline std::string percent(double share) { return fmt::format("{} %", format_significant(100.0 * share, 2)); }

inline std::string chance(double p) {
  if (p < 0.001) return "p < 0.001";
  return "p = " + (p < 0.995 ? format_significant(p, 2) : std::string("1"));
}

}  // namespace ddpprof::report
