// Runs the scenario of the editor: worker counts, the database to write, progress, log, cancel, and what became of it.
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
  QString out() const;  // absolute; what a run writes

  bool run(bool dry_run);  // false when it was not started: status() says why, or the user did not want to
  RunProcess& process() { return process_; }
  QString status() const;
  QString log() const;
  // Asks, and waits for a run that the user ends. True when none is left.
  bool may_close();

 public slots:
  void cancel();

 signals:
  void open_requested(const QString& path);
  void says(const QString& message);
  void ended();

 private:
  QWidget* make_fields();
  void choose_out();
  bool ready_to_write(bool& overwrite);
  QString scenario_file();  // the editor's own, or a copy where it has changes that are not saved
  void show_progress(const RunProgress&);
  void show_result(const RunResult&);
  void refuse(const QString& why);  // a run that is not started
  void update_buttons();
  void update_out_hint();

  ScenarioPanel& scenario_;
  Ask ask_;
  RunProcess process_;
  QTemporaryDir copies_;
  QString written_;
  QLineEdit* workers_;
  QLineEdit* out_;
  QPushButton* run_;
  QPushButton* dry_run_;
  QPushButton* cancel_;
  QPushButton* open_;
  QProgressBar* progress_;
  QLabel* status_;
  QPlainTextEdit* log_;
};

}  // namespace ddpprof::gui
