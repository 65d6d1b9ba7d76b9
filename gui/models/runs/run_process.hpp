// Runs `ddpprof run` as a process: its progress and log as they come, a cancel that keeps what was measured, and its
// end in words. No widgets.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QTimer>
#include <optional>

#include "gui/models/opened_file.hpp"

namespace ddpprof::gui {

struct RunOptions {
  QString scenario_file;
  QString out;      // the database; absolute
  QString workers;  // "1,2,4"; "" for the scenario's own
  bool overwrite = false;
  bool dry_run = false;
};

struct RunProgress {
  QString text;             // "ddp N=2, repeat 1 (3 of 9): step 40 of 500"
  double fraction = 0;      // of the whole run, 0 to 1; RunProcess's never goes back
  double remaining_s = -1;  // negative: not known yet
};

struct RunResult {
  bool ok = false;  // exit code 0
  bool cancelled = false;
  int code = -1;     // -1: ended by a signal, or never started
  QString message;   // what became of it, in words, with what to do
  QString database;  // written, absolute; "" for none
};

class RunProcess : public QObject {
  Q_OBJECT

 public:
  explicit RunProcess(QObject* parent = nullptr);
  ~RunProcess() override;  // ends a run that is still going, without keeping it waiting

  // The `ddpprof` that runs: DDPPROF_PROGRAM, else the one beside this program, else the one in PATH. "" with `why`.
  static QString find_program(QString& why);

  // False, with a finished() that says why, when there is no such program. One run at a time.
  bool start(const RunOptions&);
  // SIGINT, as Ctrl-C in a terminal: the ranks are ended and what was measured is kept. A run that does not end is
  // told SIGTERM and at last SIGKILL.
  void cancel();
  void set_grace(int interrupt_ms, int terminate_ms);

  bool running() const { return process_.state() != QProcess::NotRunning; }
  bool cancelling() const { return cancelling_; }

 signals:
  void started();
  void progressed(const ddpprof::gui::RunProgress&);
  void logged(const QString& line);   // a line of standard error that is no progress
  void printed(const QString& text);  // whole lines of standard output: the plan of a dry run, the report
  void finished(const ddpprof::gui::RunResult&);

 private:
  void read_messages(bool last);
  void read_output(bool last);
  void take_line(const QByteArray& line);
  void end(const RunResult&);
  void escalate();
  RunResult result_of(int code, QProcess::ExitStatus) const;

  QProcess process_;
  QTimer patience_;
  RunOptions options_;
  QByteArray rest_, out_rest_;  // of a line that is not whole yet: standard error's, standard output's
  FileIdentity before_;         // options_.out when the run was started
  QString last_error_;
  double reached_ = 0;  // of the whole run, by the progress so far
  bool cancelling_ = false, terminated_ = false;
  int interrupt_ms_ = 20000, terminate_ms_ = 20000;
};

// A line of `ddpprof run --progress json-lines`; nothing when it is no progress.
std::optional<RunProgress> parse_progress(const QByteArray& line);

// What an exit code of ddpprof means.
QString exit_code_text(int code);

}  // namespace ddpprof::gui
