// Tables about a fit that are not stored in the database: the compared forms, and each measured all-reduce with its
// fitted time.
#pragma once

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// Returns the rows of `fit_table` and related tables for models in memory: the rows that `ddpprof run` would write.
std::vector<store::FitRow> fit_rows(const fit::Models&);

// Each form's error at the held-out N, error of the fit, and share of the draws. The selected form is first, with the
// reason.
Table forms_table(const fit::AllReduceFit&);

// The measured all-reduces that the fit uses, with the columns of nccl-tests, and the fitted times.
Table all_reduce_points_table(const fit::AllReduceFit&);

}  // namespace ddpprof::report
