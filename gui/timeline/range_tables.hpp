// The events of a range, and the properties of one event, as report tables: they can be sorted and copied.
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
