// The window of F1: all keys, and the glossary in a second tab. It can stay open beside the main window.
#pragma once

#include <QDialog>
#include <vector>

#include "analysis/report/report.hpp"

class QLabel;
class QTabWidget;

namespace ddpprof::gui {

class Page;
class TableView;

report::Table keys_table(const std::vector<Page*>&);  // the window's own keys, then the keys of each page

class HelpDialog : public QDialog {
  Q_OBJECT

 public:
  HelpDialog(report::Table keys, QWidget* parent);

  void show_keys() { show_table(0); }
  void show_glossary() { show_table(1); }

 private:
  TableView* add(report::Table, const QString& title);
  void show_table(int tab);

  QTabWidget* tabs_;
  QLabel* status_;
};

}  // namespace ddpprof::gui
