// Runs the scenario of the editor: worker counts, the database to write, progress, log, cancel and result.
#pragma once

#include <QTemporaryDir>
#include <QWidget>

#include "gui/models/runs/run_process.hpp"
#include "gui/pages/runs/ask.hpp"

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace ddpprof::gui {

class ScenarioPanel;

class RunPanel : public QWidget {
  Q_OBJECT

 public:
  explicit RunPanel(ScenarioPanel& scenario, QWidget* parent = nullptr);

  void set_ask(Ask ask) { ask_ = std::move(ask); }
  void set_workers(const QString& list);
  void set_out(const QString& path);
  QString out() const;  // absolute path of the database that a run writes

  bool run(bool dry_run);  // false if not started: status() gives the reason, or the user cancelled
  RunProcess& process() { return process_; }
  QString status() const;
  QString log() const;
  // Asks the user before it ends a run, and waits for the end. Returns true if no run is left.
  bool may_close();

 public slots:
  void cancel();
  void resume();  // continues the run that was cancelled, with the same scenario

 signals:
  void open_requested(const QString& path);
  void status_message(const QString& message);
  void ended();

 private:
  QWidget* make_fields();
  void choose_out();
  bool ready_to_write(bool& overwrite);
  bool begin(const RunOptions&, const QString& status);
  QString scenario_file();  // the editor's file, or a copy of the text if it has unsaved changes
  void show_progress(const RunProgress&);
  void show_result(const RunResult&);
  void refuse(const QString& why);  // reports that a run was not started
  void update_buttons();
  void update_out_hint();

  ScenarioPanel& scenario_;
  Ask ask_;
  RunProcess process_;
  RunOptions last_;  // of the last run that measured
  QTemporaryDir copies_;
  QString written_;
  QLineEdit* workers_;
  QLineEdit* out_;
  QPushButton* run_;
  QPushButton* dry_run_;
  QPushButton* cancel_;
  QPushButton* resume_;
  QPushButton* open_;
  QProgressBar* progress_;
  QLabel* status_;
  QPlainTextEdit* log_;
};

}  // namespace ddpprof::gui
