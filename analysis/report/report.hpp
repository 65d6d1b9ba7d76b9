// A report: named, typed tables built from a trace database; render.hpp turns them into text, CSV, JSON, Markdown or
// HTML.
#pragma once

#include <functional>
#include <string>
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

// The report that fits on a screen: at most this many lines as text of default_width.
inline constexpr std::string_view answer_report = "answer";
inline constexpr std::size_t answer_lines = 38;  // leaves two for what the command adds

// Tables that require the file's scenario, which this library does not read. A function is called
// only by reports that contain its tables.
struct ScenarioTables {
  std::function<std::vector<Table>()>
      rates;  // learning_rate and warmup; unset or an empty result: the stored tables are used
  std::function<std::vector<Table>()> plans;   // further tables about learning rates; unset: none
  std::function<std::vector<Table>()> strong;  // predicted strong scaling; unset: none
  // what_helps, dedicated_predictions (outlook_tables.hpp) and rate_choice (rate_choice.hpp); unset: none
  std::function<std::vector<Table>()> outlook;
};

// Returns a report. It is deterministic. The overlap rule applies to report `overlap`. Throws std::invalid_argument for
// an unknown name (the message lists the known ones) and store::DatabaseError if the file cannot be read.
// runner/scenario_queries/report.hpp builds reports with the scenario's tables.
Report build_report(store::Database&, std::string_view name, metrics::OverlapRule = metrics::OverlapRule::intersection,
                    const ScenarioTables& = {});

// Returns the steps of the file over N as characters (answer/step_plot.hpp). Throws store::DatabaseError.
std::string plot_steps(store::Database&, int width);

// Returns the warnings and errors of a file, most severe first. `configurations` are those of the file (measured.hpp).
// Throws store::DatabaseError.
Table notices(store::Database&, const std::vector<metrics::Configuration>&);
// Returns at most `most` of them, one row for each kind, the largest effect on the answer first. Warnings about the
// width of a prediction's interval are left out, because the answer has the interval. Throws like notices().
Table main_warnings(store::Database&, const std::vector<metrics::Configuration>&, std::size_t most);

// Returns what the profiler adds to the steps of an imported trace, and that it slows the host's launches, as
// stored by the import, of the largest N. Empty without such a note. Throws store::DatabaseError.
std::string profiler_note(store::Database&);

}  // namespace ddpprof::report
