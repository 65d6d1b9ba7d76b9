// What lies behind and across a plot: shaded stretches of its x axis with a label, and a line that is read off.
#pragma once

#include <QString>

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

// A stretch of the x axis over the plot's whole height, shaded or hatched, with a label: where there is room for it, or
// always, then flush with the plot's right edge if need be.
class Region {
 public:
  enum class Where { top, bottom };
  // `line`: which line of text the label takes, from that edge on.
  Region(Plot& plot, Where label, bool always = false, int line = 0);

  void set(double from, double to, const QString& label);
  void hide();
  bool visible() const;
  QString label() const;
  bool label_visible() const;
  double from() const { return from_; }
  // `strength` from 0 to 1; a pattern hatches it.
  void restyle(Colour which, double strength, Qt::BrushStyle style = Qt::SolidPattern);
  void make_room();  // places the label: after each change of size or range

 private:
  Plot& plot_;
  Where where_;
  bool always_;
  int line_;
  double from_ = 0.0, to_ = 0.0;
  bool shown_ = false;
  QCPItemRect* box_;
  QCPItemText* text_;
};

// A vertical line with a box of text beside it, kept inside of the plot.
class Crosshair {
 public:
  explicit Crosshair(Plot& plot);

  void set(double x, const QString& text);
  void hide();
  bool visible() const;
  double x() const { return x_; }
  QString text() const;
  void restyle(Qt::PenStyle style);
  void set_height(double ratio);  // of the text's upper edge below the plot's, 0 to 1

 private:
  Plot& plot_;
  double x_ = 0.0;
  double height_ = 0.02;
  QCPItemStraightLine* line_;
  QCPItemText* text_;
};

}  // namespace ddpprof::gui
