// The headings of the CSV export.
#pragma once

#include <cctype>
#include <string>

#include "tracer/store/schema/schema.hpp"

namespace ddpprof::export_ {

// Returns a column's name with its unit. "duration_ns" already has it; throughput in samples/s becomes
// "throughput_samples_per_s".
inline std::string csv_heading(const store::Column& column) {
  std::string unit;
  for (const char c : column.unit) {
    if (c == '/') {
      unit += "_per_";
    } else {
      unit += c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::string name(column.name);
  if (unit.empty() || ("_" + name + "_").find("_" + unit + "_") != std::string::npos) return name;
  return name + "_" + unit;
}

}  // namespace ddpprof::export_
