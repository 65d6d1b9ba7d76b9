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

  // A file that cannot be opened, or an answer that cannot be given; stays until the next call.
  void show_error(const QString& message);
  // The file's notices (report::notices) and what no fit could be made of, if anything; hidden when there is nothing.
  void show_notices(const report::Table& notices, const QString& no_models);
  void clear();

  QString text() const;  // of the line that is shown

 protected:
  void changeEvent(QEvent*) override;

 private:
  enum class Severity { none, info, warning, error };
  void show_line(Severity severity, const QString& line, bool has_details);
  void colour_in();

  QLabel* line_;
  QToolButton* toggle_;
  TableView* details_;
  Severity severity_ = Severity::none;
};

}  // namespace ddpprof::gui
