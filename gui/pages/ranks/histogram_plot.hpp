// How often which step time was measured, with the median and the 95th percentile.
#pragma once

#include "gui/models/ranks/rank_view.hpp"
#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

class HistogramPlot : public Plot {
  Q_OBJECT

 public:
  explicit HistogramPlot(QWidget* parent = nullptr);
  void show_histogram(const StepHistogram&);
  const QCPBars& bars() const { return *bars_; }

 private:
  void colour_in();

  QCPBars* bars_;
  QCPGraph *median_, *p95_;
};

}  // namespace ddpprof::gui
