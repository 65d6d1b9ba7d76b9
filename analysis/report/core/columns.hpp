// Functions that make columns by their kind of data, and cells.
#pragma once

#include <cstddef>
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

// Shows every cell with `count` significant digits.
Column digits(Column column, int count);

void append(Table&, std::vector<Column>);

// Removes the column at this index, with its cells.
void erase_column(Table&, std::size_t at);

Cell known(const std::optional<double>&);
Cell where_positive(double);  // unknown if not above 0, for example if an import has no number of samples
Cell ratio(std::optional<double> part, double whole);  // unknown if the part is unknown or the whole is not positive

}  // namespace ddpprof::report
