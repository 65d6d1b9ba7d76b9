// The tables of the page DP and DDP. Each one is a pure function of a Comparison.
#pragma once

#include "analysis/report/report.hpp"
#include "gui/models/strategies/strategies.hpp"

namespace ddpprof::gui {

// Process model, GIL, device utilisation, synchronisation, machines, scaling, memory, traffic, recommendation: the
// general property with its source, and this file's figure if there is one.
report::Table comparison_table(const Comparison&);

// The parts of the step: one row for each strategy that has figures.
report::Table time_table(const Comparison&);

// Memory and traffic of the busiest device: one row for each strategy.
report::Table device_table(const Comparison&);

// Returns one or two sentences: which strategy is better at this N, by throughputs and their intervals.
std::string recommendation(const Comparison&);

}  // namespace ddpprof::gui
