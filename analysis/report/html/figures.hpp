// Which figures say what a table of a report says, drawn from the report's tables alone.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"
#include "analysis/report/html/drawing.hpp"

namespace ddpprof::report::html {

// Those that stand above this table; none for most. Each figure of a report stands above one table: the first that
// report has of those that hold its data.
std::vector<Figure> figures_for(const Report&, const Table&);

// Step time and weak efficiency over N, from `step` (or `weak_scaling`), `predictions` and `knee`.
std::vector<Figure> scaling_figures(const Report&);
// What a step consists of at each N, a figure a strategy, from `predictions` and from `step` and `time`.
std::vector<Figure> parts_figures(const Report&);
// Measured collectives over their size, from `comm`.
std::vector<Figure> collective_figures(const Table& comm);
// Measured and fitted times of the fits that have a size, from `fit_residuals`.
std::vector<Figure> fitted_figures(const Table& residuals);
// Each rank's compute and waiting, a figure a configuration of two ranks or more, from `skew` (or `ranks`).
std::vector<Figure> rank_figures(const Table& ranks);

}  // namespace ddpprof::report::html
