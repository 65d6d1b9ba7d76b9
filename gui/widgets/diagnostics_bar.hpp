// The bar above every page: what failed to open, and what was lost or is doubtful, before any number is read.
#pragma once

#include <QFrame>
#include <QString>

#include "analysis/report/report.hpp"

class QLabel;
class QToolButton;

namespace ddpprof::gui {

class TableView;

class DiagnosticsBar : public QFrame {
  Q_OBJECT

 public:
  explicit DiagnosticsBar(QWidget* parent = nullptr);

  // A file that cannot be opened: said above the notices of the file that stays, until the next one is opened.
  void show_error(const QString& message);
  // The file's notices (report::notices) and what no fit could be made of, if anything; hidden when there is nothing.
  void show_notices(const report::Table& notices, const QString& no_models);
  void clear();

  QString text() const;  // of the line that is shown

 protected:
  void changeEvent(QEvent*) override;

 private:
  enum class Severity { none, warning, error };
  void show_lines();
  void colour_in();

  QLabel* line_;
  QToolButton* toggle_;
  TableView* details_;
  Severity severity_ = Severity::none;
  QString error_, notices_;
  Severity notices_severity_ = Severity::none;
  bool has_details_ = false;
};

}  // namespace ddpprof::gui
