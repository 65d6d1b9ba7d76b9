#include "gui/pages/runs/scenario_panel.hpp"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QSaveFile>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/pages/runs/scenario_editor.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::gui {
namespace {

constexpr qint64 largest_bytes = 1 << 20;  // the limit of `ddpprof run`

}  // namespace

ScenarioPanel::ScenarioPanel(QWidget* parent)
    : QWidget(parent),
      ask_(ask_with_dialog(this)),
      title_(new QLabel(this)),
      new_(new QMenu(this)),
      editor_(new ScenarioEditor(this)),
      help_(new QLabel(this)),
      status_(new QLabel(this)),
      problems_(new QListWidget(this)) {
  editor_->setAcceptDrops(false);  // the page opens a dropped file; otherwise its path would be pasted as text
  editor_->setPlaceholderText(
      tr("A scenario describes what to train and how to measure it. Use New to start from an example, open a file, or "
         "type. Ctrl+Space lists the keys allowed at the cursor."));
  help_->setWordWrap(true);
  help_->setAccessibleName(tr("About the key at the cursor"));
  help_->setMinimumHeight(2 * help_->fontMetrics().lineSpacing());
  help_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  status_->setWordWrap(true);
  status_->setAccessibleName(tr("Validity of the scenario"));
  problems_->setAccessibleName(tr("Problems of the scenario"));
  problems_->setWordWrap(true);
  problems_->hide();
  auto* upper = new QWidget(this);
  auto* upper_layout = new QVBoxLayout(upper);
  upper_layout->setContentsMargins(0, 0, 0, 0);
  upper_layout->addWidget(editor_, 1);
  upper_layout->addWidget(help_);
  upper_layout->addWidget(status_);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->setObjectName("scenario");
  splitter->addWidget(upper);
  splitter->addWidget(problems_);
  splitter->setStretchFactor(0, 4);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(make_bar());
  layout->addWidget(splitter, 1);
  connect(editor_, &ScenarioEditor::checked, this, &ScenarioPanel::show_problems);
  connect(editor_, &ScenarioEditor::described, help_, &QLabel::setText);
  connect(editor_->document(), &QTextDocument::modificationChanged, this, &ScenarioPanel::show_title);
  connect(problems_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
    const QPoint place = item->data(Qt::UserRole).toPoint();
    editor_->go_to(place.y(), place.x());
  });
  connect(problems_, &QListWidget::itemClicked, problems_, &QListWidget::itemActivated);
  show_title();
}

QWidget* ScenarioPanel::make_bar() {
  auto* bar = new QWidget(this);
  auto* layout = new QHBoxLayout(bar);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* start = new QToolButton(bar);
  start->setText(tr("N&ew from"));
  start->setPopupMode(QToolButton::InstantPopup);
  start->setMenu(new_);
  start->setFocusPolicy(Qt::StrongFocus);
  connect(new_, &QMenu::aboutToShow, this, &ScenarioPanel::fill_new);
  auto* open_file = new QPushButton(tr("&Open scenario…"), bar);
  auto* save_file = new QPushButton(tr("Save"), bar);
  auto* save_as = new QPushButton(tr("Save as…"), bar);
  save_file->setShortcut(QKeySequence::Save);
  save_as->setShortcut(QKeySequence::SaveAs);
  connect(open_file, &QPushButton::clicked, this, &ScenarioPanel::choose_open);
  connect(save_file, &QPushButton::clicked, this, &ScenarioPanel::save);
  connect(save_as, &QPushButton::clicked, this, &ScenarioPanel::choose_save);
  title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  title_->setSizePolicy(QSizePolicy::Ignored,
                        QSizePolicy::Preferred);  // otherwise a long path would make the page wider
  for (QWidget* button : std::initializer_list<QWidget*>{start, open_file, save_file, save_as})
    layout->addWidget(button);
  layout->addWidget(title_, 1);
  return bar;
}

void ScenarioPanel::fill_new() {
  new_->clear();
  QAction* stored = new_->addAction(tr("The opened database's scenario"), this, &ScenarioPanel::start_from_stored);
  stored->setEnabled(file_ && file_->scenario);
  new_->addSeparator();
  for (const QString& path : example_scenarios()) {
    new_->addAction(QFileInfo(path).completeBaseName(), this, [this, path] { start_from_example(path); });
  }
  new_->addSeparator();
  new_->addAction(tr("Empty text"), this, [this] { start_from({}, "scenario.yaml"); });
}

bool ScenarioPanel::start_from_example(const QString& path) {
  QFile file(path);
  if (file.open(QIODevice::ReadOnly)) return start_from(QString::fromUtf8(file.readAll()), QFileInfo(path).fileName());
  show_error(tr("%1 cannot be read: %2").arg(path, file.errorString()));
  return false;
}

bool ScenarioPanel::start_from_stored() {
  if (!file_ || !file_->scenario) return false;
  return start_from(QString::fromStdString(scenario::to_yaml(*file_->scenario)),
                    QString::fromStdString(file_->scenario->name) + ".yaml");
}

bool ScenarioPanel::start_from(const QString& text, const QString& name) {
  if (!may_discard()) return false;
  path_.clear();
  name_ = name;
  editor_->setPlainText(text);
  editor_->document()->setModified(false);
  show_title();
  return true;
}

bool ScenarioPanel::open(const QString& path) {
  if (!may_discard()) return false;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    show_error(tr("%1 cannot be read: %2").arg(path, file.errorString()));
    return false;
  }
  if (file.size() > largest_bytes) {
    show_error(tr("%1 has %2 bytes; a scenario has at most %3.").arg(path).arg(file.size()).arg(largest_bytes));
    return false;
  }
  const QByteArray bytes = file.readAll();
  const QString text = QString::fromUtf8(bytes);
  if (text.toUtf8() != bytes || text.contains(QChar(0))) {
    show_error(tr("%1 is not a text file in UTF-8. A scenario is a YAML file.").arg(path));
    return false;
  }
  path_ = QFileInfo(path).absoluteFilePath();
  name_ = QFileInfo(path).fileName();
  editor_->setPlainText(text);
  editor_->document()->setModified(false);
  show_title();
  return true;
}

bool ScenarioPanel::save() { return path_.isEmpty() ? choose_save() : save_to(path_); }

bool ScenarioPanel::save_to(const QString& path) {
  QSaveFile file(path);  // keeps the old file until the new one is complete
  if (!file.open(QIODevice::WriteOnly) || file.write(text().toUtf8()) < 0 || !file.commit()) {
    show_error(tr("%1 cannot be written: %2").arg(path, file.errorString()));
    return false;
  }
  path_ = QFileInfo(path).absoluteFilePath();
  name_ = QFileInfo(path).fileName();
  editor_->document()->setModified(false);
  show_title();
  return true;
}

bool ScenarioPanel::choose_save() {
  const QString folder = path_.isEmpty() ? QString() : QFileInfo(path_).absolutePath() + "/";
  const QString path = QFileDialog::getSaveFileName(this, tr("Save the scenario"), folder + name(),
                                                    tr("Scenarios (*.yaml *.yml);;All files (*)"));
  return !path.isEmpty() && save_to(path);
}

void ScenarioPanel::choose_open() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a scenario"), path_.isEmpty() ? QString() : path_,
                                                    tr("Scenarios (*.yaml *.yml);;All files (*)"));
  if (!path.isEmpty()) open(path);
}

bool ScenarioPanel::may_discard() {
  if (!modified()) return true;
  switch (ask_({tr("Unsaved scenario"), tr("%1 has changes that are not saved.").arg(name_), tr("Save"),
                tr("Discard the changes")})) {
    case Answer::first:
      return save();
    case Answer::second:
      return true;
    case Answer::cancel:
      break;
  }
  return false;
}

QString ScenarioPanel::name() const { return name_; }
QString ScenarioPanel::text() const { return editor_->toPlainText(); }
QString ScenarioPanel::status() const { return status_->text(); }

// An unchanged example is not counted as modified, because it can be loaded again.
bool ScenarioPanel::modified() const { return editor_->document()->isModified() && !text().trimmed().isEmpty(); }

void ScenarioPanel::show_title() {
  const QString where = path_.isEmpty() ? tr("%1 (not saved as a file)").arg(name_) : path_;
  title_->setText(where + (editor_->document()->isModified() ? tr(" • not saved") : QString()));
  title_->setToolTip(where);
}

void ScenarioPanel::show_error(const QString& message) { status_->setText("✖ " + message); }

void ScenarioPanel::show_problems() {
  problems_->clear();
  const auto& found = editor_->problems();
  if (text().trimmed().isEmpty()) {
    problems_->hide();
    status_->clear();
    return;
  }
  for (const TextProblem& problem : found) {
    auto* item = new QListWidgetItem(problem.text(), problems_);
    item->setData(Qt::UserRole, QPoint(problem.column, problem.line));
  }
  problems_->setVisible(!found.empty());
  status_->setText(found.empty()       ? tr("✔ The scenario is valid.")
                   : found.size() == 1 ? tr("✖ 1 problem. Click it to go to its line.")
                                       : tr("✖ %1 problems. Click one to go to its line.").arg(found.size()));
}

}  // namespace ddpprof::gui
