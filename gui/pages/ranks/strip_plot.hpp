// The strip of all steps by rank: a colour map with a cursor that mouse and arrow keys move.
#pragma once

#include "gui/models/ranks/rank_view.hpp"
#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

class StripPlot : public Plot {
  Q_OBJECT

 public:
  explicit StripPlot(QWidget* parent = nullptr);

  void show_strip(RankStrip strip);
  const RankStrip& strip() const { return strip_; }

  // Indices into the strip, clamped to its size. An empty strip has no cursor.
  void set_cursor(int rank, int step);
  int cursor_rank() const { return rank_; }
  int cursor_step() const { return step_; }
  QString cursor_text() const;  // "" without a cursor
  QColor cursor_colour() const;

 signals:
  void cursor_moved();
  void step_chosen();     // Enter or a double click on the cursor's step
  void choice_cleared();  // Escape

 protected:
  void keyPressEvent(QKeyEvent*) override;
  void mousePressEvent(QMouseEvent*) override;
  void mouseDoubleClickEvent(QMouseEvent*) override;

 private:
  void colour_in();
  void draw_cursor();
  bool move_to(const QPointF& position);

  RankStrip strip_;
  double factor_ = 1.0;  // value in base units / displayed value
  int rank_ = -1, step_ = -1;
  QCPColorMap* map_;
  QCPColorScale* scale_;
  QCPItemRect* cursor_;
};

}  // namespace ddpprof::gui
