// Writes a report as a text table, CSV, JSON, Markdown or an HTML page.
#pragma once

#include <iosfwd>
#include <optional>
#include <string_view>

#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

enum class Format { table, csv, json, markdown, html };

std::optional<Format> parse_format(std::string_view name);  // "table", "csv", "json", "markdown", "html"

// `width`: columns a text table may take before it is folded (repeating its key columns) and its prose wrapped; 0 means
// default_width. The other formats ignore it. Text, Markdown and HTML choose a unit per column and name it in the
// heading; CSV and JSON keep base units and every digit (docs/reference/report/formats.md). HTML is one page without
// script that refers to nothing outside of itself, well-formed XML too, whatever bytes the database has; figures show
// what its tables hold.
inline constexpr int default_width = 120;
void render(const Report&, Format, std::ostream&, int width = 0);

}  // namespace ddpprof::report
