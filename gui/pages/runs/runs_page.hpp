// The page Runs: opens databases, compares two databases, edits a scenario and runs it.
#pragma once

#include "gui/pages/page.hpp"
#include "gui/pages/runs/ask.hpp"

class QTabWidget;

namespace ddpprof::gui {

class ComparePanel;
class OpenPanel;
class RunPanel;
class ScenarioPanel;

class RunsPage : public Page {
  Q_OBJECT

 public:
  explicit RunsPage(Selection& selection, QWidget* parent = nullptr);

  QString title() const override { return tr("R&uns"); }
  std::vector<std::pair<QString, QString>> keys() const override;
  void show_file(std::shared_ptr<const OpenedFile> file) override;
  bool show_example() override;
  bool compare_databases(const QString& a, const QString& b) override;
  bool may_close() override;

  void set_ask(const Ask& ask);
  OpenPanel& opening() { return *open_; }
  ComparePanel& comparison() { return *compare_; }
  ScenarioPanel& scenario() { return *scenario_; }
  RunPanel& run() { return *run_; }

 protected:
  void dragEnterEvent(QDragEnterEvent*) override;
  void dropEvent(QDropEvent*) override;

 private:
  void compare_with(const QString& path, bool as_a);

  OpenPanel* open_;
  QTabWidget* tabs_;
  ComparePanel* compare_;
  ScenarioPanel* scenario_;
  RunPanel* run_;
};

}  // namespace ddpprof::gui
