#include "gui/pages/runs/run_panel.hpp"

#include <QDir>
#include <QEventLoop>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>

#include "gui/models/runs/scenario_text.hpp"
#include "gui/pages/runs/scenario_editor.hpp"
#include "gui/pages/runs/scenario_panel.hpp"
#include "gui/plots/design.hpp"

namespace ddpprof::gui {
namespace {

constexpr int fine = 1000;  // resolution of the progress bar
constexpr int most_log_lines = 20000;

}  // namespace

RunPanel::RunPanel(ScenarioPanel& scenario, QWidget* parent)
    : QWidget(parent),
      scenario_(scenario),
      ask_(ask_with_dialog(this)),
      process_(this),
      workers_(new QLineEdit(this)),
      out_(new QLineEdit(this)),
      run_(new QPushButton(tr("&Run"), this)),
      dry_run_(new QPushButton(tr("Dr&y run"), this)),
      cancel_(new QPushButton(tr("Ca&ncel"), this)),
      resume_(new QPushButton(tr("Resume"), this)),
      open_(new QPushButton(tr("Open the database"), this)),
      progress_(new QProgressBar(this)),
      status_(new QLabel(this)),
      log_(new QPlainTextEdit(this)) {
  progress_->setRange(0, fine);
  progress_->setTextVisible(true);
  progress_->setFormat({});
  progress_->setAccessibleName(tr("Progress of the run"));
  status_->setWordWrap(true);
  status_->setAccessibleName(tr("Status of the run"));
  status_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  open_->hide();
  resume_->hide();
  resume_->setToolTip(tr("Measure the configurations that are missing; finished ones are kept"));
  log_->setReadOnly(true);
  log_->setAcceptDrops(false);
  log_->setTabChangesFocus(true);
  log_->setLineWrapMode(QPlainTextEdit::NoWrap);
  log_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  log_->setMaximumBlockCount(most_log_lines);
  log_->setAccessibleName(tr("Log of the run"));
  log_->setPlaceholderText(tr("Output of the run: its plan, its log, its report."));
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(make_fields(), 0, 0, 1, 3);
  auto* actions = new QHBoxLayout;
  actions->addWidget(progress_, 1);
  for (QPushButton* button : {run_, dry_run_, cancel_}) actions->addWidget(button);
  layout->addLayout(actions, 1, 0, 1, 3);
  layout->addWidget(status_, 2, 0);
  layout->addWidget(resume_, 2, 1, Qt::AlignTop);
  layout->addWidget(open_, 2, 2, Qt::AlignTop);
  layout->addWidget(log_, 3, 0, 1, 3);
  layout->setRowStretch(3, 1);
  layout->setColumnStretch(0, 1);
  connect(run_, &QPushButton::clicked, this, [this] { run(false); });
  connect(dry_run_, &QPushButton::clicked, this, [this] { run(true); });
  connect(cancel_, &QPushButton::clicked, this, &RunPanel::cancel);
  connect(resume_, &QPushButton::clicked, this, &RunPanel::resume);
  connect(open_, &QPushButton::clicked, this, [this] { emit open_requested(written_); });
  connect(&process_, &RunProcess::progressed, this, &RunPanel::show_progress);
  connect(&process_, &RunProcess::logged, log_, &QPlainTextEdit::appendPlainText);
  connect(&process_, &RunProcess::printed, this, [this](const QString& text) {
    QString whole = text;
    if (whole.endsWith('\n')) whole.chop(1);
    log_->appendPlainText(whole);
  });
  connect(&process_, &RunProcess::started, this, &RunPanel::update_buttons);
  connect(&process_, &RunProcess::finished, this, &RunPanel::show_result);
  connect(scenario_.editor(), &ScenarioEditor::checked, this, &RunPanel::update_out_hint);
  update_buttons();
  update_out_hint();
}

QWidget* RunPanel::make_fields() {
  auto* fields = new QWidget(this);
  auto* grid = new QGridLayout(fields);
  grid->setContentsMargins(0, 0, 0, 0);
  workers_->setPlaceholderText(tr("the scenario's"));
  workers_->setToolTip(tr("Worker counts that replace those of the scenario, for example 1,2,4"));
  workers_->setMaximumWidth(16 * workers_->fontMetrics().averageCharWidth());
  auto* workers_label = new QLabel(tr("Wor&kers:"), fields);
  workers_label->setBuddy(workers_);
  auto* out_label = new QLabel(tr("Database to &write:"), fields);
  out_label->setBuddy(out_);
  out_->setClearButtonEnabled(true);
  auto* browse = new QPushButton(tr("Browse…"), fields);
  browse->setAccessibleName(tr("Browse for the database to write"));
  connect(browse, &QPushButton::clicked, this, &RunPanel::choose_out);
  grid->addWidget(workers_label, 0, 0);
  grid->addWidget(workers_, 0, 1);
  grid->addWidget(out_label, 0, 2);
  grid->addWidget(out_, 0, 3);
  grid->addWidget(browse, 0, 4);
  grid->setColumnStretch(3, 1);
  dry_run_->setToolTip(tr("Show the plan without measuring"));
  cancel_->setToolTip(tr("End the run and keep finished measurements"));
  return fields;
}

void RunPanel::set_workers(const QString& list) { workers_->setText(list); }
void RunPanel::set_out(const QString& path) { out_->setText(path); }
QString RunPanel::status() const { return status_->text(); }
QString RunPanel::log() const { return log_->toPlainText(); }

QString RunPanel::out() const {
  if (const QString named = out_->text().trimmed(); !named.isEmpty()) return QFileInfo(named).absoluteFilePath();
  return out_->placeholderText();
}

// The default path is in the scenario's folder and has the scenario's name.
void RunPanel::update_out_hint() {
  QString name = scenario_name(scenario_.text());
  if (name.isEmpty()) name = QFileInfo(scenario_.name()).completeBaseName();
  const QString folder = scenario_.path().isEmpty() ? QDir::currentPath() : QFileInfo(scenario_.path()).absolutePath();
  out_->setPlaceholderText(folder + "/" + name + ".db");
}

void RunPanel::choose_out() {
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Write the measurements to"), out(), tr("Trace databases (*.db);;All files (*)"), nullptr,
      QFileDialog::DontConfirmOverwrite);  // the question comes when the run starts
  if (!path.isEmpty()) out_->setText(path);
}

bool RunPanel::ready_to_write(bool& overwrite) {
  const QString database = out();
  overwrite = QFileInfo::exists(database) || QFileInfo::exists(database + ".d");
  if (!overwrite) return true;
  return ask_({tr("Replace a database"),
               tr("%1 exists. The run replaces it and the traces in %1.d.").arg(database),
               tr("Replace it"),
               {}}) == Answer::first;
}

QString RunPanel::scenario_file() {
  if (!scenario_.path().isEmpty() && !scenario_.modified()) return scenario_.path();
  QFile copy(copies_.filePath(scenario_.name()));
  if (!copies_.isValid() || !copy.open(QIODevice::WriteOnly) || copy.write(scenario_.text().toUtf8()) < 0) {
    refuse(tr("✖ %1 cannot be written: %2").arg(copy.fileName(), copy.errorString()));
    return {};
  }
  return copy.fileName();
}

// Removes the result of the previous run, so that it is not taken for this one's. The log stays; the refusal is its
// last line.
void RunPanel::refuse(const QString& why) {
  progress_->setValue(0);
  progress_->setFormat(tr("not started"));
  open_->hide();
  resume_->hide();
  status_->setText(why);
  log_->appendPlainText(why);
  emit status_message(why);
}

bool RunPanel::run(bool dry_run) {
  if (process_.running()) return false;
  const auto problems = check_scenario(scenario_.text());
  if (!problems.empty()) {
    const QString first = problems.front().text();
    refuse(problems.size() == 1 ? tr("✖ The scenario has a problem: %1").arg(first)
                                : tr("✖ The scenario has %1 problems; the first: %2").arg(problems.size()).arg(first));
    scenario_.editor()->go_to(problems.front().line, problems.front().column);
    return false;
  }
  update_out_hint();
  RunOptions options;
  options.dry_run = dry_run;
  options.out = out();
  options.workers = workers_->text().remove(' ');
  if (!dry_run && !ready_to_write(options.overwrite)) {
    refuse(tr("Not started. %1 was not changed.").arg(options.out));
    return false;
  }
  options.scenario_file = scenario_file();
  if (options.scenario_file.isEmpty()) return false;
  if (!dry_run) last_ = options;
  return begin(options,
               dry_run ? tr("Planning…") : tr("Running. Cancel ends the run and keeps finished measurements."));
}

void RunPanel::resume() {
  if (process_.running() || last_.scenario_file.isEmpty()) return;
  RunOptions options = last_;
  options.overwrite = false;
  options.resume = true;
  begin(options, tr("Continuing. Cancel ends the run and keeps finished measurements."));
}

bool RunPanel::begin(const RunOptions& options, const QString& status) {
  open_->hide();
  resume_->hide();
  log_->clear();
  progress_->setValue(0);
  progress_->setFormat(tr("starting"));
  status_->setText(status);
  const bool begun = process_.start(options);
  if (!begun) refuse(status_->text());  // the label says why the program could not be started
  update_buttons();
  return begun;
}

void RunPanel::cancel() {
  process_.cancel();
  if (process_.cancelling()) status_->setText(tr("Cancelling: the ranks are ending…"));
  update_buttons();
}

void RunPanel::show_progress(const RunProgress& progress) {
  progress_->setValue(static_cast<int>(progress.fraction * fine));
  progress_->setFormat(progress.text + "  (%p %)");
}

void RunPanel::show_result(const RunResult& result) {
  progress_->setValue(result.ok ? fine : progress_->value());
  progress_->setFormat(result.ok ? tr("done") : result.cancelled ? tr("cancelled") : tr("ended"));
  status_->setText((result.ok ? "✔ " : result.cancelled ? "" : "✖ ") + result.message);
  written_ = result.database;
  open_->setVisible(!written_.isEmpty());
  resume_->setVisible(result.cancelled && !result.ok && QFileInfo::exists(last_.out));
  if (!written_.isEmpty()) {
    open_->setText(tr("Open %1").arg(QFileInfo(written_).fileName().replace('&', "&&")));
    if (isVisible()) open_->setFocus();
  }
  update_buttons();
  emit status_message(result.message.section('\n', 0, 0));
  emit ended();
}

void RunPanel::update_buttons() {
  const bool running = process_.running();
  for (QWidget* widget : std::initializer_list<QWidget*>{run_, dry_run_, workers_, out_}) widget->setEnabled(!running);
  cancel_->setEnabled(running && !process_.cancelling());
}

bool RunPanel::may_close() {
  if (!process_.running()) return true;
  if (ask_({tr("A run is in progress"),
            tr("Closing the window ends the run. Finished measurements are kept in %1.").arg(out()),
            tr("End the run"),
            {}}) != Answer::first)
    return false;
  QEventLoop until_ended;
  connect(&process_, &RunProcess::finished, &until_ended, &QEventLoop::quit);
  cancel();
  if (process_.running()) until_ended.exec();
  return true;
}

}  // namespace ddpprof::gui
