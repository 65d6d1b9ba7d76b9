// One bar of where the step goes: a piece for each part, as wide as its share, with a legend below.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/models/overview/overview.hpp"

namespace ddpprof::gui {

class StepBar : public QWidget {
  Q_OBJECT

 public:
  explicit StepBar(QWidget* parent = nullptr);

  void show_step(std::vector<StepShare>);
  QSize sizeHint() const override { return minimumSizeHint(); }
  QSize minimumSizeHint() const override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

  // Places of the texts of the legend, for tests. They do not overlap.
  std::vector<QRect> legend_boxes(int width) const;

 signals:
  void activated();  // a click, Enter or Space: the user wants to see the evidence

 protected:
  void paintEvent(QPaintEvent*) override;
  void mouseReleaseEvent(QMouseEvent*) override;
  void keyPressEvent(QKeyEvent*) override;

 private:
  std::vector<StepShare> step_;
};

}  // namespace ddpprof::gui
