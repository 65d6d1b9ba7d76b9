// Tables about the models stored in the database.
#pragma once

#include <vector>

#include "analysis/report/tables/source.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::report {

Table fit_table(const Source&);
Table fit_parameters_table(const Source&);
Table fit_residuals_table(const Source&);
Table predictions_table(const Source&);
Table knee_table(const Source&);
std::vector<store::PredictionRow> read_predictions(const Source&);  // by strategy, ranks per host, N

}  // namespace ddpprof::report
