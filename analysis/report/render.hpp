// Writes a report as a text table, CSV, JSON or Markdown.
#pragma once

#include <iosfwd>
#include <optional>
#include <string_view>

#include "analysis/report/report.hpp"

namespace ddpprof::report {

enum class Format { table, csv, json, markdown };

std::optional<Format> parse_format(std::string_view name);  // "table", "csv", "json", "markdown"

// `width`: columns a text table may take before it is folded (repeating its key columns) and its prose wrapped; 0 means
// default_width. The other formats ignore it. Text and Markdown choose a unit per column and name it in the heading;
// CSV and JSON keep base units and every digit (docs/report.md).
inline constexpr int default_width = 120;
void render(const Report&, Format, std::ostream&, int width = 0);

}  // namespace ddpprof::report
