// The selected range's statistics, by name and by rank: on the timeline's page, or as a dock beside every page.
//
// Listens to the selection; asks the source for the range's measurement where it is not read yet.
#pragma once

#include <QWidget>

#include "gui/models/jobs.hpp"
#include "gui/models/selection.hpp"
#include "gui/timeline/timeline_source.hpp"

class QLabel;
class QTabWidget;

namespace ddpprof::gui {

class TableView;

class RangeStatistics : public QWidget {
  Q_OBJECT

 public:
  RangeStatistics(Selection& selection, TimelineSource& source, QWidget* parent = nullptr);

  const TableView& names() const { return *names_; }
  const TableView& ranks() const { return *ranks_; }
  QString heading() const;  // the range in words, or why there is none

 signals:
  void shown();  // the tables are those of the selection's range

 private:
  void update_tables();
  void say(const QString& text);

  Selection& selection_;
  TimelineSource& source_;
  Job job_;
  QLabel* heading_;
  QTabWidget* tabs_;
  TableView* names_;
  TableView* ranks_;
};

}  // namespace ddpprof::gui
