// A report of a trace database with all that its scenario lets say: the same for every front end.
#pragma once

#include <string_view>

#include "analysis/report/report.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::questions {

// report::build_report with the rates reckoned from the scenario and what the file measured, as `ddpprof lr` does, and
// with plan_tables (rates.hpp) in the reports that are of the learning rate, too. Of a file without a scenario (an
// import, a benchmark) there are none; of a scenario that this program does not understand, or that no training can
// have, a table without rows says why. Throws as report::build_report.
report::Report build_report(store::Database&, std::string_view name,
                            metrics::OverlapRule = metrics::OverlapRule::intersection);

}  // namespace ddpprof::questions
