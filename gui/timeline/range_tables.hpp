// What a range holds and what an event is, as tables of a report: shown, sorted and copied like any other.
#pragma once

#include <vector>

#include "analysis/report/report.hpp"
#include "analysis/timeline/details.hpp"
#include "analysis/timeline/statistics.hpp"

namespace ddpprof::gui {

report::Table names_table(const timeline::Timeline&, const timeline::RangeStatistics&);
report::Table ranks_table(const timeline::Timeline&, const timeline::RangeStatistics&);
report::Table details_table(const std::vector<timeline::Detail>&);

}  // namespace ddpprof::gui
