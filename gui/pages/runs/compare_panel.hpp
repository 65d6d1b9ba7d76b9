// Compares two databases: the tables of `ddpprof compare A.db B.db`, with the differences in words first.
#pragma once

#include <QWidget>
#include <vector>

#include "analysis/report/report.hpp"
#include "gui/models/jobs.hpp"

class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QShortcut;
class QTabWidget;

namespace ddpprof::gui {

class TableView;

class ComparePanel : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePanel(QWidget* parent = nullptr);

  void set_a(const QString& path);
  void set_b(const QString& path);
  QString a() const;
  QString b() const;
  bool running() const { return job_.running(); }
  QString status() const;
  // The last report; null if the last comparison failed.
  const report::Report* shown() const { return has_report_ ? &report_ : nullptr; }
  TableView* view(const std::string& table) const;

 public slots:
  void compare();
  void cancel();  // the tables of the previous comparison stay
  void swap();

 signals:
  void compared();      // shown() has changed
  void not_compared();  // status() gives the reason
  void status_message(const QString& message);

 private:
  QLineEdit* add_row(QGridLayout&, int row, const QString& label, const QString& what);
  // The waterfall above the two steps and the table, with a box to choose one of several configurations.
  QWidget* drawn(const report::Table& waterfall, QWidget* below, const QString& in_a, const QString& in_b);
  void show_report(report::Report, const QString& in_a, const QString& in_b);
  void update_button();

  QLineEdit* a_;
  QLineEdit* b_;
  QPushButton* compare_;
  QPushButton* cancel_;
  QShortcut* escape_;
  QPushButton* swap_;
  QLabel* status_;
  TableView* words_;
  QTabWidget* tables_;
  std::vector<std::pair<std::string, TableView*>> views_;
  Job job_;
  QString before_;  // status() before the present comparison started
  report::Report report_;
  bool has_report_ = false;
};

}  // namespace ddpprof::gui
