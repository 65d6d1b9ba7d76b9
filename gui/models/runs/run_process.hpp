// Runs `ddpprof run` as a process, without widgets: reports its progress and log, can cancel it and keep finished
// measurements, and describes the result.
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
  QString out;      // the database to write; absolute path
  QString workers;  // "1,2,4"; "" for the scenario's worker counts
  bool overwrite = false;
  bool resume = false;  // continue the database of a run that did not reach its end
  bool dry_run = false;
};

struct RunProgress {
  QString text;             // "ddp N=2, repeat 1 (3 of 9): step 40 of 500"
  double fraction = 0;      // of the whole run, 0 to 1; never decreases in RunProcess::progressed
  double remaining_s = -1;  // negative: unknown
};

struct RunResult {
  bool ok = false;  // exit code 0
  bool cancelled = false;
  int code = -1;     // -1: ended by a signal, or not started
  QString message;   // the result and what to do, as text
  QString database;  // absolute path of the database that was written; "" if none
};

class RunProcess : public QObject {
  Q_OBJECT

 public:
  explicit RunProcess(QObject* parent = nullptr);
  ~RunProcess() override;  // ends a run that is still going; waits at most 6 s

  // Returns the `ddpprof` program to run: DDPPROF_PROGRAM, else the one in this program's folder, else the one in PATH.
  // Otherwise returns "" and sets `why`.
  static QString find_program(QString& why);

  // Returns false if find_program() finds none; finished() then gives the reason. Also returns false if a run is going
  // on.
  bool start(const RunOptions&);
  // Sends SIGINT, as Ctrl-C in a terminal does: the ranks are ended and finished measurements are kept. If the run does
  // not end, sends SIGTERM, then SIGKILL.
  void cancel();
  void set_grace(int interrupt_ms, int terminate_ms);

  bool running() const { return process_.state() != QProcess::NotRunning; }
  bool cancelling() const { return cancelling_; }

 signals:
  void started();
  void progressed(const ddpprof::gui::RunProgress&);
  void logged(const QString& line);   // a line of standard error that does not report progress
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
  QByteArray rest_, out_rest_;  // bytes after the last line end of standard error and standard output
  FileIdentity before_;         // identity of options_.out when the run was started
  QString last_error_;
  double reached_ = 0;  // the largest fraction so far
  bool cancelling_ = false, terminated_ = false;
  int interrupt_ms_ = 20000, terminate_ms_ = 20000;
};

// Parses a line of `ddpprof run --progress json-lines`. Returns nothing if the line does not report progress.
std::optional<RunProgress> parse_progress(const QByteArray& line);

// Returns the meaning of an exit code of ddpprof.
QString exit_code_text(int code);

}  // namespace ddpprof::gui
