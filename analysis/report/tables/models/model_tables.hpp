// Tables about models from rows, which are read from a database or just computed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/metrics/scaling.hpp"
#include "analysis/report/core/table.hpp"
#include "tracer/store/rows/result_rows.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::report {

// Rows are sorted by strategy, ranks per node and N.
Table predictions_table(std::vector<store::PredictionRow> rows);

// Per strategy: the smallest of these N at which exposed communication exceeds 10, 25 and 50 % of the step. Measured
// values take precedence over predicted ones. The knee_table of what_if_tables.hpp considers all N. `shared_resource`:
// step times alone do not separate communication from other shared resources.
Table knee_table(std::span<const metrics::MeasuredScaling> measured, std::span<const store::PredictionRow> predicted,
                 bool shared_resource = false);

Table fit_table(std::span<const store::FitRow> rows);
Table fit_parameters_table(std::span<const store::FitRow> rows);
Table fit_residuals_table(std::span<const store::FitRow> rows);
Table notes_table(std::span<const store::DiagnosticRow> rows);  // assumptions of a fit or a prediction

}  // namespace ddpprof::report
