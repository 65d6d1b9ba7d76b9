// A report's table in the window. A click on a heading sorts it; it can be copied as text, CSV or Markdown.
#pragma once

#include <QTableView>

#include "gui/models/report_table_model.hpp"

class QSortFilterProxyModel;

namespace ddpprof::gui {

class TableView : public QTableView {
  Q_OBJECT

 public:
  explicit TableView(QWidget* parent = nullptr);

  void set_table(report::Table table);
  // From now on the columns of sentences share the width that the other columns leave, long lists in the other columns
  // are wrapped, and every row is as high as its texts. The table scrolls only where the sentences would have less than
  // a least width.
  void share_width();
  // Makes columns as narrow as their texts and wraps the first one, so that the last one is visible without scrolling.
  void tighten();
  void show_all_rows();  // makes the present table as high as its rows, for a page that scrolls as a whole
  const ReportTableModel& model_of_table() const { return *model_; }

 public slots:
  void copy_selection();  // the selected cells with tabs between them, or the whole table if nothing is selected
  void copy_as_csv();     // the whole table in base units with all digits, as `ddpprof report --format csv`
  void copy_as_markdown();

 signals:
  void status_message(const QString& message);
  // By a double click, Enter or Return. `row`: its number in the table as it was set, whatever the order now. Not
  // QTableView::activated, which on some desktops also follows a single click, which selects a row for copying.
  void row_chosen(int row);

 protected:
  void keyPressEvent(QKeyEvent*) override;
  void resizeEvent(QResizeEvent*) override;

 private:
  void choose(const QModelIndex&);
  void fit_sentences();
  int narrowed(int column);  // wraps long texts that are no sentences; returns the width
  void copy(const QString& text, int rows, const QString& form);

  ReportTableModel* model_;
  QSortFilterProxyModel* sorted_;
  bool shares_width_ = false;
};

}  // namespace ddpprof::gui
