// Writes a report as a text table, CSV, JSON, Markdown or an HTML page.
#pragma once

#include <iosfwd>
#include <optional>
#include <string_view>

#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

enum class Format { table, csv, json, markdown, html };

std::optional<Format> parse_format(std::string_view name);  // "table", "csv", "json", "markdown", "html"

// How text tables are written.
struct TextStyle {
  TextStyle(int columns = 0, bool only_ascii = false) : width(columns), ascii(only_ascii) {}
  int width;
  bool ascii;  // other characters are replaced: µ by u, × by x, … (core/ascii.hpp)
};

// `width`: maximum width of a text table in characters. Wider tables are folded (key columns are repeated) and their
// prose is wrapped; 0 means default_width. Other formats ignore it. Text, Markdown and HTML choose a unit per column
// and show it in the heading. CSV and JSON keep base units and all digits (docs/reference/report/formats.md). HTML is
// one page without script or external resources, which is also well-formed XML for any bytes in the database. Its
// figures show data of its tables.
inline constexpr int default_width = 120;
void render(const Report&, Format, std::ostream&, TextStyle = {});

}  // namespace ddpprof::report
