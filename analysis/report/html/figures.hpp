// Figures of a report, drawn only from its tables.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"
#include "analysis/report/html/drawing.hpp"

namespace ddpprof::report::html {

// Returns the figures above this table; most tables have none. Each figure is shown above the first table of the report
// that has its data.
std::vector<Figure> figures_for(const Report&, const Table&);

// Step time and efficiency over N, from `step` (or `weak_scaling`), `predictions` and `knee`.
std::vector<Figure> scaling_figures(const Report&);
// Parts of a step at each N, one figure per strategy, from `predictions`, `step` and `time`.
std::vector<Figure> parts_figures(const Report&);
// Measured collectives over their size, from `comm`.
std::vector<Figure> collective_figures(const Table& comm);
// Measured and fitted times of the fits that have a size, from `fit_residuals`.
std::vector<Figure> fitted_figures(const Table& residuals);
// Compute and waiting of each rank, one figure per configuration with two or more ranks, from `skew` (or `ranks`).
std::vector<Figure> rank_figures(const Table& ranks);

}  // namespace ddpprof::report::html
