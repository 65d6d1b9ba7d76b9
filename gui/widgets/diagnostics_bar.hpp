// The bar above every page: errors when opening a file, and warnings about lost or uncertain data.
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

  // Shows why a file could not be opened, above the notices of the present file, until another file is opened.
  void show_error(const QString& message);
  // Shows the file's notices (report::notices) and why no model could be fitted. Hidden if there is nothing to show.
  void show_notices(const report::Table& notices, const QString& no_models);
  // The same with other notices of the same file. Errors stay, and details stay open.
  void update_notices(const report::Table& notices);
  void clear();

  QString text() const;  // of the visible line

 protected:
  void changeEvent(QEvent*) override;

 private:
  enum class Severity { none, warning, error };
  void take(const report::Table& notices, const QString& no_models);
  void show_lines();
  void colour_in();

  QLabel* line_;
  QToolButton* toggle_;
  TableView* details_;
  Severity severity_ = Severity::none;
  QString error_, notices_, no_models_;
  Severity notices_severity_ = Severity::none;
  bool has_details_ = false;
};

}  // namespace ddpprof::gui
