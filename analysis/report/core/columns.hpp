// Columns by what they hold, for every table of a report.
#pragma once

#include <string>

#include "analysis/report/report.hpp"

namespace ddpprof::report {

Column text(std::string name, std::string title, bool hide_constant = false);
Column prose(std::string name, std::string title);
Column flag(std::string name, std::string title);
Column count(std::string name, std::string title, std::string unit = "");
Column seconds(std::string name, std::string title, std::string scale_with = "");
Column quantity(std::string name, std::string title, std::string unit);
Column share(std::string name, std::string title);

// Every cell with so many significant digits of its own.
Column digits(Column column, int count);

}  // namespace ddpprof::report
