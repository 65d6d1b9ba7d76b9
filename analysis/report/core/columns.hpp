// Columns by what they hold, for every table of a report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"

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

void append(Table&, std::vector<Column>);

Cell known(const std::optional<double>&);
Cell where_positive(double);  // unknown where it is not above 0: of imports that do not say how many samples
Cell ratio(std::optional<double> part, double whole);  // unknown when the part is, or when the whole is not positive

}  // namespace ddpprof::report
