// Shaded ranges of a plot's x axis with a label, and a vertical line with a text.
#pragma once

#include <QString>

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

// A shaded or hatched range of the x axis over the plot's whole height, or a thin bracket at its top, with a label. The label is shown if it fits, or
// always; then it is moved to the plot's right edge if needed.
class Region {
 public:
  enum class Where { top, bottom };
  enum class Shape { area, bracket };
  // `line`: the text line of the label, counted from that edge.
  Region(Plot& plot, Where label, bool always = false, int line = 0, Shape shape = Shape::area);

  void set(double from, double to, const QString& label);
  void hide();
  bool visible() const;
  QString label() const;
  bool label_visible() const;
  double from() const { return from_; }
  double height_px() const;  // of the area or of the bracket
  // `strength` from 0 to 1. `style` can be a hatch pattern.
  void restyle(Colour which, double strength, Qt::BrushStyle style = Qt::SolidPattern);
  void make_room();  // places the label; call after each change of size or range

 private:
  Plot& plot_;
  Where where_;
  bool always_;
  int line_;
  Shape shape_;
  double from_ = 0.0, to_ = 0.0;
  bool shown_ = false;
  QCPItemRect* box_;
  QCPItemText* text_;
};

// A vertical line with a box of text beside it. The box stays inside the plot's widget.
class Crosshair {
 public:
  explicit Crosshair(Plot& plot);

  void set(double x, const QString& text);
  void hide();
  bool visible() const;
  double x() const { return x_; }
  QString text() const;
  QRectF text_box() const;  // in the plot's pixels
  void restyle(Qt::PenStyle style);
  void set_height(double ratio);  // of the text's upper edge, as a share of the plot's height from the top

 private:
  void place_text();

  Plot& plot_;
  double x_ = 0.0;
  double height_ = 0.02;
  QCPItemStraightLine* line_;
  QCPItemText* text_;
};

}  // namespace ddpprof::gui
