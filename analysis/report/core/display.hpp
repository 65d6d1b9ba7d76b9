// A table as people read it: cells already text, units in the headings. Shared by the text and Markdown renderers.
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
  std::size_t column = 0;  // of the table's columns
  std::vector<std::string> cells;

  std::string heading() const { return unit.empty() ? title : title + " [" + unit + "]"; }
};

// Columns that say nothing (every cell unknown, or hide_constant and hide_zero apply) are left out.
std::vector<ShownColumn> show(const Table&);

std::size_t display_width(const std::string& utf8);  // code points
std::string one_line(const std::string& text);       // control characters become spaces

}  // namespace ddpprof::report
