// Tables about models from rows, whether these come from a database or were computed a moment ago.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/metrics/scaling.hpp"
#include "analysis/report/core/table.hpp"
#include "tracer/store/rows/result_rows.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::report {

// Rows are shown ordered by strategy, ranks per node and N.
Table predictions_table(std::vector<store::PredictionRow> rows);

// Per strategy: the smallest of these N at which exposed communication exceeds 10, 25 and 50 % of the step. What was
// measured counts before what was predicted. Of every N, listed or not: what_if_tables.hpp's.
Table knee_table(std::span<const metrics::MeasuredScaling> measured, std::span<const store::PredictionRow> predicted);

Table fit_table(std::span<const store::FitRow> rows);
Table fit_parameters_table(std::span<const store::FitRow> rows);
Table fit_residuals_table(std::span<const store::FitRow> rows);
Table notes_table(std::span<const store::DiagnosticRow> rows);  // what a fit or a prediction assumes

}  // namespace ddpprof::report
