// The data that the Fit page plots for a fitted model: measured points, the model's curve, residuals, the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/models.hpp"

namespace ddpprof::gui {

enum class FitKind { all_reduce, ddp_compute, dp_compute, copies };
const char* to_string(FitKind);  // the name shown to the user: "All-reduce (ddp)"
// The names of these fits in the report `fit`.
const char* fit_name(FitKind);
const char* fit_strategy(FitKind);

struct FitPoint {
  double x = 0.0;                          // bytes, or N
  double measured_s = 0.0, error_s = 0.0;  // the standard error of measured_s
  double fitted_s = 0.0;
  double relative_error() const { return fitted_s / measured_s - 1.0; }
};

// One series of the plot: one N and source, or one copy phase at one N. The curve has the same x axis as the points.
struct FitSeries {
  std::string name;
  std::int64_t workers = 1;
  std::vector<FitPoint> points;
  std::vector<double> curve_x, curve_s;
};

struct FitView {
  FitKind kind = FitKind::all_reduce;
  bool usable = false;
  std::string form, status;
  std::vector<std::string> warnings, notes;
  std::string x_title;        // with its unit in brackets
  std::string curve_meaning;  // what the line is, if the points are not expected to lie on it
  std::vector<FitSeries> series;
};

// Returns the models that have measured data, in the order of the report.
std::vector<FitKind> fits_of(const fit::Models&);

// `gpus_per_node` as in predictions: it places the ranks of an N that was not measured.
FitView view_fit(const fit::Models&, FitKind, std::int64_t gpus_per_node);

}  // namespace ddpprof::gui
