// Draws the table `compare_waterfall`: the step of A, a bar for the change of each term, and the step of B.
#pragma once

#include <QWidget>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"

namespace ddpprof::gui {

struct WaterfallBar {
  std::string what;
  double from_s = 0, to_s = 0;                    // ends of the bar; a change begins where the one above it ends
  bool total = false;                             // the step of A or of B
  std::optional<std::pair<double, double>> ends;  // interval of the right end of a change
  QString text;                                   // the number beside the bar
};

struct Waterfall {
  QString title;  // the configuration: "ddp, N = 4"
  std::vector<WaterfallBar> bars;
};

// One waterfall for each configuration of the table, in its order.
std::vector<Waterfall> waterfalls_of(const report::Table& compare_waterfall);

class WaterfallView : public QWidget {
  Q_OBJECT

 public:
  explicit WaterfallView(QWidget* parent = nullptr);

  void show_waterfall(Waterfall);
  const Waterfall& shown() const { return shown_; }
  QSize sizeHint() const override { return minimumSizeHint(); }
  QSize minimumSizeHint() const override;  // every row and text, with room for the bars

 protected:
  void paintEvent(QPaintEvent*) override;

 private:
  int row_height() const;
  int name_width() const;  // of the widest name at the left
  int text_width() const;  // of the widest number at the right

  Waterfall shown_;
};

}  // namespace ddpprof::gui
