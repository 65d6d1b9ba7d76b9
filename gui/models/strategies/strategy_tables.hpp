// What the page says of DataParallel beside DDP, as tables: pure, from a Comparison alone.
#pragma once

#include "analysis/report/report.hpp"
#include "gui/models/strategies/strategies.hpp"

namespace ddpprof::gui {

// Process model, GIL, devices at work, synchronisation, machines, scaling, memory, traffic, recommendation: what holds
// of each in general, with its source, and this run's figure where it has one.
report::Table comparison_table(const Comparison&);

// Where the step goes, a row a strategy that has figures.
report::Table time_table(const Comparison&);

// The busiest device's memory and traffic, a row a strategy.
report::Table device_table(const Comparison&);

// One sentence or two: which of the two at this N, from their throughputs and intervals.
std::string recommendation(const Comparison&);

}  // namespace ddpprof::gui
