#include "gui/models/runs/run_process.hpp"

#include <signal.h>

#include <QCoreApplication>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>
#include <algorithm>

#include "simulator/units/units.hpp"

namespace ddpprof::gui {

QString exit_code_text(int code) {
  switch (code) {
    case 0:
      return RunProcess::tr("Done.");
    case 2:
      return RunProcess::tr("The scenario or an option is wrong (exit code 2): nothing was measured.");
    case 3:
      return RunProcess::tr("This machine does not have something that the run requires (exit code 3).");
    case 4:
      return RunProcess::tr(
          "The run failed (exit code 4): a rank ended, a rank made no progress, or a file could not be written.");
    case 5:
      return RunProcess::tr("Measured, but the data does not allow predictions (exit code 5).");
    default:
      return RunProcess::tr("ddpprof ended with exit code %1.").arg(code);
  }
}

std::optional<RunProgress> parse_progress(const QByteArray& line) {
  if (!line.startsWith("{\"progress\"")) return std::nullopt;
  const QJsonDocument document = QJsonDocument::fromJson(line);
  if (!document.isObject()) return std::nullopt;
  const QJsonObject object = document.object();
  const double all = std::max(1.0, object["configurations"].toDouble(1));
  RunProgress progress;
  if (object["progress"].toString() == "concluding") {
    progress.text = RunProcess::tr("fitting, predicting and reporting");
    progress.fraction = 1.0;
    return progress;
  }
  const double number = object["configuration"].toDouble(1), step = object["step"].toDouble(0);
  progress.text = RunProcess::tr("%1 N=%2, repeat %3 (%4 of %5): ")
                      .arg(object["strategy"].toString())
                      .arg(object["workers"].toInteger())
                      .arg(object["repeat"].toInteger())
                      .arg(static_cast<qint64>(number))
                      .arg(static_cast<qint64>(all));
  double part = 0.0;
  if (const double steps = object["steps"].toDouble(0); steps > 0) {
    part = std::clamp(step / steps, 0.0, 1.0);
    progress.text += RunProcess::tr("step %1 of %2").arg(static_cast<qint64>(step)).arg(static_cast<qint64>(steps));
  } else {
    progress.text += object["activity"].toString();
  }
  progress.fraction = std::clamp((number - 1.0 + part) / all, 0.0, 1.0);
  if (object["remaining_s"].isDouble()) {
    progress.remaining_s = object["remaining_s"].toDouble();
    progress.text +=
        RunProcess::tr(", about %1 left").arg(QString::fromStdString(units::clock_text(progress.remaining_s)));
  }
  return progress;
}

RunProcess::RunProcess(QObject* parent) : QObject(parent), process_(this), patience_(this) {
  patience_.setSingleShot(true);
  connect(&patience_, &QTimer::timeout, this, &RunProcess::escalate);
  connect(&process_, &QProcess::started, this, &RunProcess::started);
  connect(&process_, &QProcess::readyReadStandardError, this, [this] { read_messages(false); });
  connect(&process_, &QProcess::readyReadStandardOutput, this, [this] { read_output(false); });
  connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    read_messages(true);
    read_output(true);
    end(result_of(code, status));
  });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;  // all other errors also emit finished()
    RunResult result;
    result.message = tr("%1 cannot be started: %2. Build it again, or name another in DDPPROF_PROGRAM.")
                         .arg(process_.program(), process_.errorString());
    end(result);
  });
}

RunProcess::~RunProcess() {
  process_.disconnect(this);
  if (!running()) return;
  ::kill(static_cast<pid_t>(process_.processId()), SIGINT);
  if (!process_.waitForFinished(3000)) {
    process_.kill();  // the ranks end too: the kernel and the ranks' guardian process end them
    process_.waitForFinished(3000);
  }
}

QString RunProcess::find_program(QString& why) {
  if (const QString named = qEnvironmentVariable("DDPPROF_PROGRAM"); !named.isEmpty()) {
    if (QFileInfo(named).isExecutable()) return named;
    why = tr("DDPPROF_PROGRAM names '%1', which is not an executable file. Name the program ddpprof.").arg(named);
    return {};
  }
  const QString beside = QCoreApplication::applicationDirPath() + "/ddpprof";
  if (QFileInfo(beside).isExecutable()) return beside;
  const QString in_path = QStandardPaths::findExecutable("ddpprof");
  if (in_path.isEmpty())
    why = tr("ddpprof was found neither at %1 nor in PATH. Build it, or name it in DDPPROF_PROGRAM.").arg(beside);
  return in_path;
}

bool RunProcess::start(const RunOptions& options) {
  if (running()) return false;
  options_ = options;
  cancelling_ = terminated_ = false;
  rest_.clear();
  out_rest_.clear();
  last_error_.clear();
  reached_ = 0;
  before_ = identity_of(options.out.toStdString());
  QString why;
  const QString program = find_program(why);
  if (program.isEmpty()) {
    RunResult result;
    result.message = why;
    emit finished(result);
    return false;
  }
  QStringList arguments = {"run", options.scenario_file, "--out", options.out, "--progress", "json-lines"};
  if (!options.workers.isEmpty()) arguments << "--workers" << options.workers;
  if (options.overwrite) arguments << "--overwrite";
  if (options.resume) arguments << "--resume";
  if (options.dry_run) arguments << "--dry-run";
  process_.start(program, arguments, QIODevice::ReadOnly);
  return true;
}

void RunProcess::set_grace(int interrupt_ms, int terminate_ms) {
  interrupt_ms_ = interrupt_ms;
  terminate_ms_ = terminate_ms;
}

void RunProcess::cancel() {
  if (!running() || cancelling_) return;
  cancelling_ = true;
  // A process that has not started has no id, so only QProcess::kill() works.
  if (process_.processId() <= 0) {
    process_.kill();
    return;
  }
  ::kill(static_cast<pid_t>(process_.processId()), SIGINT);
  emit logged(tr("Cancelling: ending the ranks. Finished measurements are kept."));
  patience_.start(interrupt_ms_);
}

void RunProcess::escalate() {
  if (!running()) return;
  if (!terminated_) {
    terminated_ = true;
    emit logged(tr("The run has not ended. Sending SIGTERM."));
    process_.terminate();
    patience_.start(terminate_ms_);
  } else {
    emit logged(tr("The run has not ended. Sending SIGKILL."));
    process_.kill();
  }
}

void RunProcess::read_messages(bool last) {
  rest_ += process_.readAllStandardError();
  qsizetype begin = 0;
  for (qsizetype end = rest_.indexOf('\n'); end >= 0; end = rest_.indexOf('\n', begin)) {
    take_line(rest_.mid(begin, end - begin));
    begin = end + 1;
  }
  rest_.remove(0, begin);
  if (last && !rest_.isEmpty()) {
    take_line(rest_);
    rest_.clear();
  }
}

// Emits whole lines only: a chunk may end inside a line or inside a UTF-8 character.
void RunProcess::read_output(bool last) {
  out_rest_ += process_.readAllStandardOutput();
  const qsizetype end = last ? out_rest_.size() : out_rest_.lastIndexOf('\n') + 1;
  if (end == 0) return;
  const QString text = QString::fromUtf8(out_rest_.left(end));
  out_rest_.remove(0, end);
  emit printed(text);
}

void RunProcess::take_line(const QByteArray& line) {
  if (auto progress = parse_progress(line)) {
    // Ranks that are writing their results report no step: keep the bar where it is.
    reached_ = progress->fraction = std::max(reached_, progress->fraction);
    emit progressed(*progress);
    return;
  }
  const QString text = QString::fromUtf8(line);
  if (text.startsWith("ddpprof run: ")) last_error_ = text.mid(13);
  emit logged(text);
}

RunResult RunProcess::result_of(int code, QProcess::ExitStatus status) const {
  RunResult result;
  result.cancelled = cancelling_;
  result.code = status == QProcess::NormalExit ? code : -1;
  result.ok = result.code == 0;
  const bool exists = QFileInfo::exists(options_.out);
  const bool kept = exists && identity_of(options_.out.toStdString()) ==
                                  before_;  // true if it is still the database of an earlier run
  const bool written = !options_.dry_run && exists && !kept && result.code != 2;
  if (written) result.database = options_.out;
  if (result.cancelled && !result.ok) {
    result.message = tr("Cancelled.") + " " +
                     (written ? tr("Finished measurements are kept in %1.").arg(options_.out)
                      : kept  ? tr("Nothing was measured; %1 was not changed.").arg(options_.out)
                              : tr("Nothing was measured."));
    return result;
  }
  result.message = status == QProcess::NormalExit
                       ? exit_code_text(code)
                       : tr("ddpprof was ended by a signal: %1.").arg(process_.errorString());
  if (!result.ok && !last_error_.isEmpty()) result.message += "\n" + last_error_;
  if (result.ok && options_.dry_run) result.message = tr("Dry run: the plan is shown, nothing was measured.");
  return result;
}

void RunProcess::end(const RunResult& result) {
  patience_.stop();
  cancelling_ = false;
  emit finished(result);
}

}  // namespace ddpprof::gui
