#include "gui/pages/scaling/scaling_page.hpp"

#include <QAbstractButton>
#include <QAction>
#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabWidget>
#include <QTextDocumentFragment>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/pages/scaling/answer_labels.hpp"
#include "gui/pages/scaling/knob_panel.hpp"
#include "gui/pages/scaling/scaling_plot.hpp"
#include "gui/pages/scaling/sharded_panel.hpp"
#include "gui/plots/design.hpp"
#include "gui/widgets/message_stack.hpp"
#include "gui/widgets/shell_line.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui::whatif {
namespace {

// The text above the predictions that are stored in a file without models.
QString about_stored(const OpenedFile& file) {
  return ScalingPage::tr("Below are the predictions that are stored in this file. Changes cannot be predicted: %1.")
      .arg(QString::fromStdString(file.why_no_models));
}

}  // namespace

ScalingPage::ScalingPage(Selection& selection, QWidget* parent)
    : Page(selection, parent),
      model_(this),
      knobs_(new KnobPanel(this)),
      sharded_(new ShardedPanel(this)),
      plot_(new ScalingPlot(this)),
      views_(new QButtonGroup(this)),
      logarithmic_(new QCheckBox(tr("Log"), this)),
      limit_(new QComboBox(this)),
      command_(new ShellLine(this)),
      heading_(new QLabel(this)),
      summary_(new QLabel(this)),
      levers_title_(new QLabel(this)),
      busy_(new QLabel(tr("…"), this)),
      tables_(new QTabWidget(this)),
      levers_(new TableView(this)),
      predictions_(new TableView(this)),
      what_if_(new TableView(this)),
      why_(new TableView(this)),
      knee_(new TableView(this)),
      notes_(new TableView(this)) {
  auto* across = new QSplitter(Qt::Horizontal, this);
  across->addWidget(knobs_);
  across->addWidget(make_middle());
  across->addWidget(make_right());
  across->setObjectName("scaling");
  across->setStretchFactor(0, 0);
  across->setStretchFactor(1, 1);
  across->setStretchFactor(2, 0);
  across->setSizes({knobs_->minimumWidth(), 610, 420});
  across->setChildrenCollapsible(false);
  stack_ = new MessageStack(across, this);
  stack_->addWidget(sharded_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  connect(sharded_, &ShardedPanel::choice_changed, this, [this] { this->selection().set_choice(sharded_->choice()); });
  connect(sharded_, &ShardedPanel::status_message, this, &Page::status_message);

  connect(knobs_, &KnobPanel::changed, this, [this](const Knobs& knobs) {
    model_.set_knobs(knobs);
    // Changing one knob can change others: another strategy has its own measured values and may have no buckets.
    if (!(model_.knobs() == knobs)) knobs_->show_knobs(model_.knobs(), model_.measured());
  });
  connect(knobs_, &KnobPanel::status_message, this, &Page::status_message);
  connect(knobs_, &KnobPanel::log_wanted, this, &ScalingPage::choose_log);
  connect(plot_, &ScalingPlot::workers_picked, this, [this](qint64 workers) {
    Knobs knobs = model_.knobs();
    knobs.workers = workers;
    model_.set_knobs(knobs);
    knobs_->show_knobs(model_.knobs(), model_.measured());
  });
  connect(plot_, &Plot::status_message, this, &Page::status_message);
  connect(&model_, &ScalingModel::snapshot_changed, this, &ScalingPage::show_snapshot);
  connect(&model_, &ScalingModel::levers_changed, this, &ScalingPage::show_levers);
  connect(&model_, &ScalingModel::tables_changed, this, &ScalingPage::show_tables);
  connect(&model_, &ScalingModel::busy_changed, this, &ScalingPage::show_busy);
  const auto step = [this](const QString& text, QKeySequence::StandardKey keys, bool (ScalingModel::*back)(),
                           const QString& none) {
    auto* action = new QAction(text, this);
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    addAction(action);
    connect(action, &QAction::triggered, this, [this, text, back, none] {
      const bool done = (model_.*back)();
      if (done) knobs_->show_knobs(model_.knobs(), model_.measured());
      emit status_message(done ? text : none);
    });
  };
  step(tr("Undo the change of knobs"), QKeySequence::Undo, &ScalingModel::undo, tr("No change of knobs to undo"));
  step(tr("Redo the change of knobs"), QKeySequence::Redo, &ScalingModel::redo, tr("No change of knobs to redo"));
  connect(&model_, &ScalingModel::failed, this, [this](const QString& why) { emit status_message(why); });
  show_file(nullptr);
}

QWidget* ScalingPage::make_bar() {
  auto* bar = new QWidget(this);
  // Two rows, so that the page fits into half a window, and on a full HD screen at 2x.
  auto* rows = new QVBoxLayout(bar);
  rows->setContentsMargins(grid_px, grid_px / 2, grid_px, grid_px / 2);
  rows->setSpacing(grid_px / 2);
  auto* row = new QHBoxLayout;
  row->setSpacing(0);  // a segmented control
  rows->addLayout(row);
  const std::pair<ScalingPlot::View, QString> views[] = {{ScalingPlot::View::throughput, tr("Throughput")},
                                                         {ScalingPlot::View::speedup, tr("Speedup")},
                                                         {ScalingPlot::View::efficiency, tr("Efficiency")},
                                                         {ScalingPlot::View::step, tr("Step time")},
                                                         {ScalingPlot::View::split, tr("Step parts")}};
  views_->setExclusive(true);
  for (const auto& [view, text] : views) {
    auto* button = new QToolButton(bar);
    const int number = static_cast<int>(view);
    button->setText(text);
    button->setCheckable(true);
    button->setFocusPolicy(Qt::StrongFocus);
    button->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(number + 1)));
    button->setToolTip(tr("%1 over N (Ctrl+%2)").arg(text).arg(number + 1));
    button->setAccessibleName(tr("Show %1").arg(text));
    button->setChecked(view == ScalingPlot::View::throughput);
    views_->addButton(button, number);
    row->addWidget(button);
  }
  connect(views_, &QButtonGroup::idClicked, this,
          [this](int id) { plot_->set_view(static_cast<ScalingPlot::View>(id)); });
  row->addStretch(1);
  row = new QHBoxLayout;
  rows->addLayout(row);
  logarithmic_->setChecked(true);
  logarithmic_->setShortcut(QKeySequence(tr("Ctrl+L")));
  logarithmic_->setToolTip(tr("Logarithmic axes (Ctrl+L)"));
  connect(logarithmic_, &QCheckBox::toggled, plot_, &ScalingPlot::set_logarithmic);
  row->addWidget(logarithmic_);
  row->addStretch(1);
  auto* upto = new QLabel(tr("N up to"), bar);
  upto->setBuddy(limit_);
  limit_->setAccessibleName(tr("Largest N drawn"));
  limit_->setToolTip(tr("The largest N that is drawn"));
  connect(limit_, &QComboBox::activated, this, [this] { model_.set_limit(limit_->currentData().toLongLong()); });
  row->addWidget(upto);
  row->addWidget(limit_);
  auto* save = new QToolButton(bar);
  save->setText(tr("Save…"));
  save->setToolTip(tr("Save the plot as PNG or SVG (Ctrl+Shift+S in the plot)"));
  save->setFocusPolicy(Qt::StrongFocus);
  connect(save, &QToolButton::clicked, plot_, &Plot::ask_and_save);
  row->addWidget(save);
  return bar;
}

QWidget* ScalingPage::make_middle() {
  auto* down = new QSplitter(Qt::Vertical, this);
  auto* upper = new QWidget(down);
  auto* column = new QVBoxLayout(upper);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  column->addWidget(make_bar());
  column->addWidget(plot_, 1);
  command_->setContentsMargins(grid_px, 0, grid_px, grid_px / 2);
  connect(command_, &ShellLine::status_message, this, &ScalingPage::status_message);
  column->addWidget(command_);
  tables_->setDocumentMode(true);
  predictions_->setWordWrap(false);  // long notes at the right would make its rows tall
  tables_->addTab(predictions_, tr("Predictions"));
  tables_->addTab(what_if_, tr("What if"));
  tables_->addTab(why_, tr("Why"));
  tables_->addTab(knee_, tr("Knee"));
  tables_->addTab(notes_, tr("Notes"));
  down->setObjectName("scaling plot");
  down->addWidget(upper);
  down->addWidget(tables_);
  down->setStretchFactor(0, 3);
  down->setStretchFactor(1, 1);
  down->setSizes({480, 180});
  down->setChildrenCollapsible(false);
  return down;
}

QWidget* ScalingPage::make_right() {
  auto* down = new QSplitter(Qt::Vertical, this);
  auto* words = new QWidget(down);
  auto* column = new QVBoxLayout(words);
  column->setContentsMargins(grid_px, grid_px, grid_px, grid_px);
  column->addLayout(answer_head(heading_, busy_));
  prepare_sentences(summary_);
  words_ = new QScrollArea(words);
  words_->setWidget(summary_);
  words_->setWidgetResizable(true);
  words_->setFrameShape(QFrame::NoFrame);
  words_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  words_->installEventFilter(this);
  column->addWidget(words_, 1);
  auto* help = new QWidget(down);
  auto* below = new QVBoxLayout(help);
  below->setContentsMargins(grid_px, grid_px / 2, grid_px, grid_px);
  make_bold(levers_title_, body_px);
  levers_title_->setWordWrap(true);
  below->addWidget(levers_title_);
  connect(levers_, &TableView::row_chosen, this, &ScalingPage::turn);
  below->addWidget(levers_, 1);
  down->setObjectName("scaling words");
  down->addWidget(words);
  down->addWidget(help);
  down->setStretchFactor(0, 3);
  down->setStretchFactor(1, 2);
  down->setSizes({470, 230});
  down->setChildrenCollapsible(false);
  down->setMinimumWidth(levers_title_->fontMetrics().averageCharWidth() * 25);
  return down;
}

std::vector<std::pair<QString, QString>> ScalingPage::keys() const {
  return {{tr("Ctrl+1 … Ctrl+5"), tr("show throughput, speedup, efficiency, step time, step parts")},
          {tr("Ctrl+L"), tr("logarithmic or linear axes")},
          {tr("Ctrl+0"), tr("reset all knobs to their measured values")},
          {tr("Ctrl+Z, Ctrl+Shift+Z"), tr("undo and redo the last change of knobs")},
          {tr("Left, Right, Home, End"), tr("in the plot: select another N")},
          {tr("arrows, Page Up, Page Down"), tr("on a slider: change the value")},
          {tr("Enter, double click"), tr("in the table What helps most: set this change alone")},
          {tr("Ctrl+C, Ctrl+Shift+S"), tr("in the plot: copy the picture, save it")}};
}

std::vector<TableView*> ScalingPage::stored_tables() const { return stack_->tables(); }

QString ScalingPage::message() const {
  return stack_->shows_content() || stack_->currentWidget() == sharded_ ? QString() : stack_->message();
}

QString ScalingPage::summary() const {
  return heading_->text() + '\n' + QTextDocumentFragment::fromHtml(summary_->text()).toPlainText();
}

void ScalingPage::show_file(std::shared_ptr<const OpenedFile> file) {
  selection().set_choice(std::nullopt);  // its options are of the previous file
  // Clear the sentences about the previous file, because the new ones may take a while.
  heading_->clear();
  sentences_.clear();
  show_sentences();
  model_.set_file(file);
  knobs_->set_file(file.get());
  knobs_->show_knobs(model_.knobs(), model_.measured());
  fill_limits();
  const bool sharded = file && file->sharded;
  sharded_->show_file(sharded ? file : nullptr);
  set_first_control(sharded ? static_cast<QWidget*>(sharded_->reset_all()) : plot_);
  if (!file)
    stack_->show_message(tr(
        "No file is open. Open a trace database (File, Open, or drop it here), or measure one on the page Runs. This "
        "page then shows how the job scales, its binding term, and which change helps."));
  else if (sharded)
    stack_->setCurrentWidget(sharded_);
  else if (!file->models && !file->stored_predictions.rows.empty())
    stack_->show_message(about_stored(*file), {file->stored_predictions});
  else if (!file->models)
    stack_->show_message(tr("Cannot predict from this file: %1").arg(QString::fromStdString(file->why_no_models)));
  else if (file->models->measured.ddp.empty() && file->models->measured.dp.empty())
    stack_->show_message(tr(
        "This file has all-reduces but no training step, so there is nothing to scale. Measure a training with ddpprof "
        "run, or look at the page Fit."));
  else
    stack_->show_content();
}

bool ScalingPage::applies_to(const OpenedFile& file) const {
  return file.sharded || !file.stored_predictions.rows.empty() ||
         (file.models && !(file.models->measured.ddp.empty() && file.models->measured.dp.empty()));
}

void ScalingPage::fill_limits() {
  const QSignalBlocker quiet(limit_);
  if (limit_->count() == 0)
    for (qint64 n = 8; n <= most_workers; n *= 2) limit_->addItem(QString::number(n), n);
  limit_->setCurrentIndex(limit_->findData(static_cast<qint64>(model_.limit())));
}

void ScalingPage::offer_throughput(bool known) {
  QAbstractButton* button = views_->button(static_cast<int>(ScalingPlot::View::throughput));
  if (button->isEnabled() == known) return;
  button->setEnabled(known);
  button->setToolTip(known ? tr("Throughput over N (Ctrl+1)") : tr("Unknown: the samples of a step were not recorded"));
  if (known || plot_->view() != ScalingPlot::View::throughput) return;
  views_->button(static_cast<int>(ScalingPlot::View::step))->setChecked(true);
  plot_->set_view(ScalingPlot::View::step);
}

void ScalingPage::share_choice() {
  const auto& file = model_.file();
  if (file && file->sharded) return;  // the choice of its panel
  selection().set_choice(file && file->models ? prediction_choice(*file, model_.knobs()) : std::nullopt);
}

void ScalingPage::show_snapshot() {
  const Snapshot& shot = model_.snapshot();
  command_->set_command(QString::fromStdString(model_.command()));
  share_choice();
  fill_limits();
  offer_throughput(shot.predicted.points.empty() || shot.predicted.points.front().throughput.value > 0.0);
  if (!shot.refusal.empty() || shot.predicted.points.empty())
    plot_->show_nothing();
  else
    plot_->show_snapshot(shot);
  if (shot.answer || !shot.refusal.empty()) {
    knobs_->ask_for_link(shot.answer && shot.knobs.inter_node == collective::NodeLinks::usual &&
                         !fit::unmeasured_links(shot.answer->prediction).empty());
    heading_->setText(tr("At N = %1").arg(shot.knobs.workers));
    sentences_ = sentences(shot);
    const std::string& profiler = model_.file()->profiler_note;
    if (shot.answer && shot.measured_knobs.has_host && !profiler.empty())
      sentences_.push_back({"The profiler and the term host", profiler});
    show_sentences();
  }
  // Otherwise keep the sentences of the last complete answer until the new ones arrive.
}

void ScalingPage::show_sentences() {
  constexpr int least_characters = 40;  // of a line with a title beside its sentence
  const bool narrow = words_->width() < least_characters * summary_->fontMetrics().averageCharWidth();
  summary_->setText(sentences_.empty() ? QString() : sentences_html(sentences_, narrow));
}

void ScalingPage::show_levers() {
  const auto& levers = model_.levers();
  const double confidence = model_.file() ? model_.file()->predict.confidence : 0.9;
  const report::Table table = levers_table(levers, model_.levers_workers(), confidence);
  levers_title_->setText(levers.empty() ? QString() : QString::fromStdString(table.title));
  levers_->set_table(table);
  tighten_tables();
}

// Both tables have their width only when the page is shown.
void ScalingPage::tighten_tables() {
  if (!isVisible()) return;
  levers_->tighten();
  predictions_->tighten();
}

void ScalingPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  if (layout() != nullptr) layout()->activate();
  tighten_tables();
}

// Enter in the table of changes, and another width of the sentences.
bool ScalingPage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == words_ && event->type() == QEvent::Resize) show_sentences();
  return Page::eventFilter(watched, event);
}

void ScalingPage::choose_log() {
  const auto& file = model_.file();
  if (!file) return;
  const QString log = QFileDialog::getOpenFileName(
      this, tr("Output of nccl-tests' all_reduce_perf on the predicted machines"),
      QString::fromStdString(file->path.parent_path().string()), tr("Logs (*.log *.txt *.json);;All files (*)"));
  if (!log.isEmpty()) emit log_requested(log);
}

void ScalingPage::turn(int row) {
  const std::vector<Lever>& levers = model_.levers();
  if (row >= static_cast<int>(levers.size()) || !model_.are_levers_current()) return;
  const Lever lever = levers[static_cast<std::size_t>(row)];
  model_.set_knobs(lever.knobs);
  knobs_->show_knobs(model_.knobs(), model_.measured());
  emit status_message(tr("Set alone: %1 (Ctrl+Z undoes it)").arg(QString::fromStdString(lever.change.change)));
}

void ScalingPage::show_tables() {
  const PredictTables& tables = model_.tables();
  const std::pair<TableView*, const report::Table*> all[] = {{predictions_, &tables.predictions},
                                                             {what_if_, &tables.what_if},
                                                             {why_, &tables.why},
                                                             {knee_, &tables.knee},
                                                             {notes_, &tables.notes}};
  for (const auto& [view, table] : all) view->set_table(*table);
  tighten_tables();
  tables_->setTabEnabled(tables_->indexOf(what_if_), tables.has_what_if);
  tables_->setTabText(tables_->indexOf(notes_),
                      tables.notes.rows.empty() ? tr("Notes") : tr("Notes (%1)").arg(tables.notes.rows.size()));
}

void ScalingPage::show_busy() { busy_->setVisible(model_.busy()); }

}  // namespace ddpprof::gui::whatif
