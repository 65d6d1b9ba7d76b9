// A stacked bar for each rank: the parts of its step.
#pragma once

#include "gui/models/ranks/rank_view.hpp"
#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

class BarsPlot : public Plot {
  Q_OBJECT

 public:
  explicit BarsPlot(QWidget* parent = nullptr);
  void show_bars(const RankBars&);

 private:
  void colour_in();

  std::array<QCPBars*, metrics::rank_part_count> bars_{};
  QCPGraph* medians_ = nullptr;
};

}  // namespace ddpprof::gui
