// Horizontal bars, side by side or stacked, one category per row: the parts of a step's time or of a device's bytes.
#pragma once

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

struct BarSeries {
  QString name;
  Colour colour = Colour::other;
  std::vector<double> values;  // in the base unit, one per category
  Qt::BrushStyle style = Qt::SolidPattern;
};

class SideBars : public Plot {
  Q_OBJECT

 public:
  explicit SideBars(QWidget* parent = nullptr);

  // `unit` is a base unit ("s", "B"); the axis uses a suitable multiple. `quantity` is the text of the axis. The first
  // category is at the top.
  void set_bars(const QString& quantity, const char* unit, const std::vector<QString>& categories,
                const std::vector<BarSeries>& series, bool stacked);

  // The drawn value in the displayed unit, for tests.
  double shown(std::size_t series, std::size_t category) const;

 private:
  void colour_in();

  std::vector<BarSeries> series_;
  std::vector<QCPBars*> bars_;
  QCPBarsGroup* group_ = nullptr;  // for bars that stand side by side
  double factor_ = 1.0;
};

}  // namespace ddpprof::gui
