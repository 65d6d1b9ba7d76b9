// Tables about models from rows, whether these come from a database or were computed a moment ago.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"
#include "simulator/scaling/efficiency.hpp"
#include "tracer/store/rows/result_rows.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::report {

// Rows are shown ordered by strategy, ranks per node and N.
Table predictions_table(std::vector<store::PredictionRow> rows);

struct Configuration;  // measured.hpp

struct MeasuredScaling {
  std::string strategy;
  scaling::ScalingPoint point;
};

// What the database measured, as knee_table takes it. Throws store::DatabaseError.
std::vector<MeasuredScaling> measured_scaling(store::Database&);
std::vector<MeasuredScaling> measured_scaling(const std::vector<Configuration>&);  // of scaling_configurations

// Whether predictions are for the machine that was measured: on another, with cores of its own say, the row at a
// measured N is not what was measured there, and measured points do not belong on that curve.
bool of_measured_machine(const MeasuredScaling&, std::span<const store::PredictionRow>);

// Per strategy: the smallest of these N at which exposed communication exceeds 10, 25 and 50 % of the step. What was
// measured counts before what was predicted. Of every N, listed or not: what_if_tables.hpp's.
Table knee_table(std::span<const MeasuredScaling> measured, std::span<const store::PredictionRow> predicted);

Table learning_rate_table(std::vector<store::LearningRateRow> rows);
Table warmup_table(std::vector<store::LearningRateRow> rows);  // every quarter of the warm-up
Table fit_table(std::span<const store::FitRow> rows);
Table fit_parameters_table(std::span<const store::FitRow> rows);
Table fit_residuals_table(std::span<const store::FitRow> rows);
Table notes_table(std::span<const store::DiagnosticRow> rows);  // what a fit or a prediction assumes

}  // namespace ddpprof::report
