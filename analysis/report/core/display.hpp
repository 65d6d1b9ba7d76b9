// A table formatted for people: cells as text, units in the headings. Used by the text, Markdown and HTML renderers.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

struct ShownColumn {
  std::string title, unit;
  bool right = false;  // numbers
  bool prose = false;
  bool key = false;
  std::size_t column = 0;  // index into the table's columns
  std::vector<std::string> cells;

  std::string heading() const { return unit.empty() ? title : title + " [" + unit + "]"; }
};

// Columns without information (all cells unknown, or hide_constant or hide_zero applies) are left out.
std::vector<ShownColumn> show(const Table&);

std::size_t display_width(const std::string& utf8);  // code points
std::string one_line(const std::string& text);       // control characters become spaces

}  // namespace ddpprof::report
