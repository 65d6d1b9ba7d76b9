// Shared by tables about configurations: the source of their data and their leading columns.
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/measured.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

struct Source {
  SQLite::Database& db;
  std::vector<metrics::Configuration> configurations;
  std::vector<Table> rates = {};  // learning_rate and warmup from the scenario; empty: the stored tables are used
  // what_helps, dedicated_predictions and rate_choice, if the caller computed them.
  std::vector<Table> outlook = {};
};

// Returns the table of Source::outlook with this name, or nullptr.
const Table* outlook_of(const Source&, std::string_view name);

// Text of an empty table of steps: the reason and what to do, for runs and imports.
inline constexpr const char* no_measured_step =
    "No measured step that every rank recorded. Measure with: ddpprof run SCENARIO.yaml. In imported traces, mark each "
    "step: call prof.step() of PyTorch's profiler, or add an NVTX range for Nsight Systems.";

// Returns why no step was measured: the first failed run of `ddpprof run -- COMMAND` if no run was measured, otherwise
// no_measured_step.
std::string why_no_step(const Source&);

// Model, strategy, workers, global batch: the leading columns of every table about configurations.
std::vector<Column> configuration_columns();
Row configuration_cells(const metrics::Configuration&);
inline constexpr int configuration_column_count = 4;
Table table_of_configurations(std::string name, std::string title, std::string note);

// Returns true if steps were timed without the profiler besides those that it recorded.
bool timed_without_profiler(const Source&);

// Returns the index into Source::configurations by measurement id.
std::map<std::int64_t, std::size_t> configuration_of_measurement(const Source&);

Cell median_cell(const std::vector<double>&);  // unknown without values

// "all_reduce"; with one worker "local all_reduce": nothing is transferred.
std::string op_text(const std::string& op, std::int64_t workers);

}  // namespace ddpprof::report
