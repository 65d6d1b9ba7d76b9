// Tables about a fit that the database does not keep: the forms that competed, and each measured all-reduce beside it.
#pragma once

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// The rows `fit_table` and its sisters show, of models fitted a moment ago: those that `ddpprof run` would have
// written.
std::vector<store::FitRow> fit_rows(const fit::Models&);

// Each form's error at the held-out N, of the fit itself, and its share of the draws; the picked one first, and why.
Table forms_table(const fit::AllReduceFit&);

// The measured all-reduces that the fit rests on, in nccl-tests' terms, beside what was fitted.
Table all_reduce_points_table(const fit::AllReduceFit&);

}  // namespace ddpprof::report
