// The colours of the timeline's events with their meaning: those that the timeline has.
#pragma once

#include <QWidget>
#include <vector>

#include "analysis/timeline/tracks.hpp"
#include "gui/plots/colours.hpp"

namespace ddpprof::gui {

class TimelineLegend : public QWidget {
  Q_OBJECT

 public:
  struct Entry {
    Colour colour;
    QString text;
    bool hatched = false;
  };

  explicit TimelineLegend(QWidget* parent = nullptr);

  void show_timeline(const timeline::Timeline*);  // null: no entries
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<QRect> boxes(int width) const;  // places of the entries; they do not overlap
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override { return minimumSizeHint(); }
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent*) override;

 private:
  std::vector<Entry> entries_;
};

}  // namespace ddpprof::gui
