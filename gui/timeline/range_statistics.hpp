// The statistics of the selected range, by name and by rank: on the page Timeline, or in a dock beside every page.
//
// Follows the selection. Asks the source to read the range's measurement if it was not read.
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
  QString heading() const;  // the range as text, or why it is missing

 signals:
  void shown();  // the tables belong to the selected range

 private:
  void update_tables();
  void show_message(const QString& text);

  Selection& selection_;
  TimelineSource& source_;
  Job job_;
  QLabel* heading_;
  QTabWidget* tabs_;
  TableView* names_;
  TableView* ranks_;
};

}  // namespace ddpprof::gui
