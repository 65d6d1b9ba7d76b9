// Shaded ranges of a plot's x axis with a label, and a vertical line with a text. Labels do not overlap.
#pragma once

#include <QString>
#include <vector>

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

// A shaded or hatched range of the x axis over the plot's whole height, or a thin bracket at its top, with a label at
// the top or the bottom. The label is shown if the range is wide enough for it, or always; then it is moved to the
// plot's right edge if needed.
class Region {
 public:
  enum class Where { top, bottom };
  enum class Shape { area, bracket };
  Region(Plot& plot, Where label, bool always = false, Shape shape = Shape::area);

  void set(double from, double to, const QString& label);
  void hide();
  bool visible() const;
  QString label() const;
  bool label_visible() const;
  QRectF label_box() const;  // in the plot's pixels; empty if the label is not visible
  double from() const { return from_; }
  double height_px() const;  // of the area or of the bracket
  // `strength` from 0 to 1. `style` can be a hatch pattern.
  void restyle(Colour which, double strength, Qt::BrushStyle style = Qt::SolidPattern);
  // Places the label as near to its edge as it does not meet the boxes of `taken`, and adds its own box to them. A
  // label that would leave the plot is hidden. Call it after each change of size or range.
  void make_room(std::vector<QRectF>& taken);

 private:
  Plot& plot_;
  Where where_;
  bool always_;
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
  // Moves the text up until it does not meet the boxes of `taken`. A text that would leave the plot is hidden.
  void make_room(const std::vector<QRectF>& taken);

 private:
  void place_text();

  Plot& plot_;
  double x_ = 0.0;
  double height_ = 0.02;
  QCPItemStraightLine* line_;
  QCPItemText* text_;
};

}  // namespace ddpprof::gui
