// The elements of a scaling plot: a line with an interval, points with error bars, stacked areas and bars.
//
// Each belongs to a plot, which owns the drawn elements. Set the colours again after each change of the palette.
#pragma once

#include <QString>
#include <QVector>
#include <vector>

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

// A line with its interval as a band. The part beyond `solid_to` is dashed, because it is less certain.
class BandedLine {
 public:
  BandedLine(Plot& plot, const QString& name, const QString& layer = QStringLiteral("main"));

  void set(const QVector<double>& x, const QVector<double>& y, const QVector<double>& low, const QVector<double>& high,
           double solid_to);
  void clear();
  void restyle(Colour which, double width = 2.0, Qt::PenStyle style = Qt::SolidLine);
  void set_band_visible(bool visible);
  void set_listed(bool listed);  // in the legend
  QCPGraph* line() { return line_; }

 private:
  Plot& plot_;
  QCPGraph *low_, *high_, *line_, *beyond_;
};

// Measured values with their intervals as error bars.
class ErrorPoints {
 public:
  ErrorPoints(Plot& plot, const QString& name, const QString& layer = QStringLiteral("main"));

  void set(const QVector<double>& x, const QVector<double>& y, const QVector<double>& low, const QVector<double>& high);
  void clear();
  void restyle(Colour which);
  void set_listed(bool listed);
  QCPGraph* points() { return points_; }

 private:
  Plot& plot_;
  QCPGraph* points_;
  QCPErrorBars* bars_;
};

// One part of a stack.
struct StackPart {
  QString name;
  Colour colour;
};

// Areas stacked on each other, the first one at the bottom. Each has a name and a colour.
class StackedAreas {
 public:
  using Part = StackPart;
  StackedAreas(Plot& plot, std::vector<Part> parts, const QString& layer = QStringLiteral("main"));

  // values[part][point], none below 0. A part that is 0 everywhere is not in the legend.
  void set(const QVector<double>& x, const std::vector<QVector<double>>& values);
  void clear();
  void restyle();
  std::size_t size() const { return parts_.size(); }
  QCPGraph* area(std::size_t part) { return areas_[part]; }  // its upper edge

 private:
  Plot& plot_;
  std::vector<Part> parts_;
  std::vector<QCPGraph*> areas_;
};

// Narrow outlined bars of the same parts. They use the colours and the legend of the areas.
class StackedBars {
 public:
  StackedBars(Plot& plot, std::vector<StackPart> parts, const QString& layer = QStringLiteral("main"));

  // values[part][point], none below 0.
  void set(const QVector<double>& x, const std::vector<QVector<double>>& values);
  void clear();
  void restyle();
  void make_room();  // makes bars narrower if they would touch; call after each change of size or range
  std::size_t size() const { return parts_.size(); }
  QCPBars* bar(std::size_t part) { return bars_[part]; }

 private:
  Plot& plot_;
  std::vector<StackPart> parts_;
  std::vector<QCPBars*> bars_;
};

}  // namespace ddpprof::gui
