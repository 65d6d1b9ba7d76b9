// A few bars beside or on top of each other, one category a row: what a step's time or a device's bytes are made of.
#pragma once

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

struct BarSeries {
  QString name;
  Colour colour = Colour::other;
  std::vector<double> values;  // in the base unit, one a category
  Qt::BrushStyle style = Qt::SolidPattern;
};

class SideBars : public Plot {
  Q_OBJECT

 public:
  explicit SideBars(QWidget* parent = nullptr);

  // `unit` is a base unit ("s", "B"); the axis chooses one to show, and `quantity` says what it is of. The first
  // category is the upper one.
  void set_bars(const QString& quantity, const char* unit, const std::vector<QString>& categories,
                const std::vector<BarSeries>& series, bool stacked);

  // What is drawn, for tests: the value in the shown unit.
  double shown(std::size_t series, std::size_t category) const;

 private:
  void colour_in();

  std::vector<BarSeries> series_;
  std::vector<QCPBars*> bars_;
  QCPBarsGroup* group_ = nullptr;  // of bars beside each other
  double factor_ = 1.0;
};

}  // namespace ddpprof::gui
