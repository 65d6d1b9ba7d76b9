// The plots of a fitted model: measured points with the model's curve; below them the residuals on the same x axis.
#pragma once

#include "gui/models/fit/fit_view.hpp"
#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

class FitPlot : public Plot {
  Q_OBJECT

 public:
  enum class Shows { times, residuals };
  explicit FitPlot(Shows, QWidget* parent = nullptr);

  void show_fit(FitView view);

 private:
  void rebuild();
  void add_times(const FitSeries&, std::size_t index);
  void add_residuals(const FitSeries&, std::size_t index);
  void set_x_axis();
  void set_time_axis();
  bool by_size() const { return view_.kind == FitKind::all_reduce || view_.kind == FitKind::copies; }

  Shows shows_;
  FitView view_;
  double factor_ = 1.0;  // time in seconds / displayed value
};

}  // namespace ddpprof::gui
