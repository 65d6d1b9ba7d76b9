// The search box of the timeline. Searches off the interface thread and goes from hit to hit.
#pragma once

#include <QWidget>

#include "gui/models/jobs.hpp"
#include "gui/timeline/timeline_view.hpp"

class QLabel;
class QLineEdit;
class QTimer;
class QToolButton;

namespace ddpprof::gui {

class Finder : public QWidget {
  Q_OBJECT

 public:
  explicit Finder(TimelineView& view, QWidget* parent = nullptr);

  void find_again();  // call after the timeline was replaced
  QLineEdit& box() { return *box_; }
  QString state() const;  // "3 of 17"

 public slots:
  void next();
  void previous();

 signals:
  void found();  // the hits belong to the present text

 private:
  enum class Go { nowhere, next, previous };
  void find();
  bool later(Go go);  // true if a search is pending: goes there when it has ended
  void go(std::size_t hit);
  void show_state();
  std::optional<std::size_t> current() const;

  TimelineView& view_;
  Job job_;
  QTimer* pause_;  // waits after the last key
  QLineEdit* box_;
  QLabel* state_;
  QToolButton* previous_;
  QToolButton* next_;
  Go go_when_found_ = Go::nowhere;
};

}  // namespace ddpprof::gui
