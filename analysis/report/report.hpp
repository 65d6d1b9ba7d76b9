// A report: named, typed tables built from a trace database; render.hpp turns them into text, CSV, JSON, Markdown or
// HTML.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "analysis/metrics/overlap_rule.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::store {
class Database;
}

namespace ddpprof::report {

struct ReportInfo {
  std::string_view name, summary;
};
std::vector<ReportInfo> report_names();

// Tables about learning rates that take the file's scenario to make, which this library does not read. Each is asked
// for by the reports that have its tables.
struct ScenarioTables {
  std::function<std::vector<Table>()> rates;  // learning_rate and warmup; nothing or none: those that were stored
  std::function<std::vector<Table>()> plans;  // what follows from them; nothing: none
};

// The same database gives the same report; the rule is that of the report `overlap`. Throws std::invalid_argument on an
// unknown name (listing the known ones) and store::DatabaseError when the file cannot be read. With the scenario's
// tables: runner/scenario_queries/report.hpp.
Report build_report(store::Database&, std::string_view name, metrics::OverlapRule = metrics::OverlapRule::intersection,
                    const ScenarioTables& = {});

// What to know before believing the numbers of a file whose configurations have been read (measured.hpp): its warnings
// and errors, most severe first. Throws store::DatabaseError.
Table notices(store::Database&, const std::vector<metrics::Configuration>&);

}  // namespace ddpprof::report
