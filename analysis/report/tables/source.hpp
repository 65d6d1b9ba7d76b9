// The tables that reports are put together from. Internal to the report library.
#pragma once

#include <SQLiteCpp/Database.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/core/columns.hpp"
#include "analysis/metrics/measured.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/report.hpp"

namespace ddpprof::report {

struct Source {
  SQLite::Database& db;
  std::vector<Configuration> configurations;
  std::vector<Table> rates = {};  // learning_rate and warmup as the scenario has them; none: those that were stored
};

// In words, per strategy: what was measured, what more workers would do, what binds (answer.cpp).
Table answer_table(const Source&);

// What was run, and what to know before believing it (run.cpp, notices.cpp).
Table run_table(const Source&);
Table versions_table(const Source&);
Table notices_table(const Source&);      // warnings and errors, most severe first, oversubscription in words
Table diagnostics_table(const Source&);  // every row as stored

// What the machine was like, and how steady the steps were (conditions.cpp, stability.cpp).
Table conditions_table(const Source&);
Table memory_table(const Source&);  // of tensors on each device, and of the processes (memory.cpp)
Table stability_table(const Source&);

// Steps (steps.cpp).
Table step_table(const Source&);   // step, throughput, speedup, efficiency, the wrapper's cost
Table time_table(const Source&);   // where the step goes
Table steps_table(const Source&);  // one row a step
Table overlap_table(const Source&);
Table weak_table(const Source&);
Table strong_table(const Source&);

// Inside a step (detail.cpp).
Table phases_table(const Source&);
Table collectives_table(const Source&);

// Ranks against each other (skew.cpp, last_starters.cpp).
Table skew_table(const Source&);
Table straggler_table(const Source&);      // who makes the others wait beyond chance, with the evidence
Table last_starters_table(const Source&);  // of each collective, where the clocks tell
Table clocks_table(const Source&);

// Devices, of imported traces (device_tables.cpp).
Table device_time_table(const Source&);
Table kernels_table(const Source&);
std::string short_kernel_name(const std::string& recorded);
Table hta_table(const Source&);          // (overlap_rule.cpp)
Table tensorboard_table(const Source&);  // (overlap_rule.cpp)

// Models (model.cpp).
Table fit_table(const Source&);
Table fit_parameters_table(const Source&);
Table fit_residuals_table(const Source&);
Table predictions_table(const Source&);
Table knee_table(const Source&);
Table learning_rate_table(const Source&);
Table warmup_table(const Source&);
Table gradient_noise_table(const Source&);
std::vector<store::PredictionRow> read_predictions(const Source&);       // by strategy, ranks per host, N
std::vector<store::LearningRateRow> read_learning_rates(const Source&);  // by rule, N

// bench-comm (comm.cpp).
Table comm_table(const Source&);

// Why a table of steps is empty, and what to do: of runs, and of imports whatever wrote them.
inline constexpr const char* no_measured_step =
    "No measured step that every rank recorded. Measure with: ddpprof run SCENARIO.yaml; in what is imported, mark "
    "each "
    "step: prof.step() of PyTorch's profiler, an NVTX range for Nsight Systems.";

// Model, strategy, workers, global batch: the leading columns of every table about configurations.
std::vector<Column> configuration_columns();
Row configuration_cells(const Configuration&);
inline constexpr int configuration_column_count = 4;

Cell known(const std::optional<double>&);
Cell where_positive(double);  // unknown where it is not above 0: of imports that do not say how many samples
Cell ratio(std::optional<double> part, double whole);  // unknown when the part is, or when the whole is not positive
// "all_reduce"; with one worker "local all_reduce": nothing is transferred.
std::string op_text(const std::string& op, std::int64_t workers);
// busbw / algbw as nccl-tests defines it: 2(N-1)/N for all_reduce, (N-1)/N for all_gather and reduce_scatter, else 1.
double bus_factor(const std::string& op, std::int64_t workers);

}  // namespace ddpprof::report
