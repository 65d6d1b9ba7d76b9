// The answer to "how fast is it, what limits it, what helps, which learning rate, what to measure next", in sentences.
// Every number is a cell of a table of the full report, and every comparison is computed from these cells.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

// The first table of a report: sentences about each strategy, the learning rate and the next measurement.
Table answer_table(const Source&);

// The warnings and errors that change the answer most, at most `most`. Warnings with the same code are one row.
Table main_warnings_table(const Source&, std::size_t most);

// The tables of the report `answer`: the answer, the steps at a glance, the main warnings. As text of default_width
// they have at most `most_lines` lines. `all_warnings`: main_warnings_table() with every row.
std::vector<Table> one_screen(const Source&, const Table& all_warnings, std::size_t most_lines);

}  // namespace ddpprof::report
