#include "gui/pages/scaling/sharded_panel.hpp"

#include <QFileDialog>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSplitter>
#include <QTextDocumentFragment>
#include <QVBoxLayout>
#include <cmath>

#include "gui/models/scaling/knobs.hpp"
#include "gui/pages/scaling/answer_labels.hpp"
#include "gui/plots/design.hpp"
#include "gui/widgets/knob.hpp"
#include "gui/widgets/message_stack.hpp"
#include "gui/widgets/shell_line.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui::whatif {
namespace {

constexpr int rests_ms = 200;  // time without another choice after which it is predicted
const QString logs_key = QStringLiteral("…logs");
// The keys of predict --what-if, in the order of the knobs.
constexpr const char* change_keys[] = {"reshard_after_forward", "prefetch", "replicate", "strategy",
                                       "precision",             "bandwidth", "latency",  "compute"};

std::int64_t rounded(const Knob& knob) { return std::llround(knob.value()); }

}  // namespace

ShardedPanel::ShardedPanel(QWidget* parent)
    : QWidget(parent),
      answering_(this),
      reset_all_(new QPushButton(tr("Reset all"), this)),
      heading_(new QLabel(this)),
      busy_(new QLabel(tr("…"), this)),
      summary_(new QLabel(this)),
      levers_title_(new QLabel(this)),
      levers_(new TableView(this)),
      command_(new ShellLine(this)),
      tabs_(new TableTabs(this)) {
  auto* across = new QSplitter(Qt::Horizontal, this);
  across->setObjectName("sharded");
  across->addWidget(make_knobs());
  across->addWidget(make_answer());
  across->setStretchFactor(0, 0);
  across->setStretchFactor(1, 1);
  across->setSizes({across->widget(0)->minimumWidth() + 2 * grid_px, 1000});  // "automatic (all)" is not cut off
  across->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(across);
  rests_.setSingleShot(true);
  rests_.setInterval(rests_ms);
  connect(&rests_, &QTimer::timeout, this, &ShardedPanel::predict);
  connect(&answering_, &Job::running_changed, this, [this] { busy_->setVisible(busy()); });
}

QWidget* ShardedPanel::make_knobs() {
  auto* scroll = new QScrollArea(this);
  auto* content = new QWidget(scroll);
  column_ = new QVBoxLayout(content);
  column_->setContentsMargins(grid_px, grid_px, grid_px, grid_px);
  column_->setSpacing(2);
  reset_all_->setShortcut(QKeySequence(tr("Ctrl+0")));
  reset_all_->setToolTip(tr("Reset all knobs to their measured values (Ctrl+0)"));
  connect(reset_all_, &QPushButton::clicked, this, &ShardedPanel::reset);
  column_->addWidget(reset_all_);

  const QString measured = tr("as measured");
  column_->addWidget(knob_heading(tr("Prediction for"), this));
  add("workers", new Knob(tr("&Workers N"), tr("The largest number of ranks to predict."),
                          {1.0, static_cast<double>(most_workers), true, true}, {}, 0, content));
  add("gpus_per_node", new Knob(tr("&GPUs per node"),
                                tr("Ranks per host. Automatic: ranks on a CPU share one host; of GPUs a host has as "
                                   "many as were measured, at least 8. In brackets is the value of automatic."),
                                {0.0, 64.0, false, true}, {}, 0, content, tr("automatic (64)")));
  add("links", new Choice(tr("Links"),
                          tr("Outputs of all_gather_perf and reduce_scatter_perf of nccl-tests on the predicted "
                             "machines replace the measured links. Links that were not measured, for example between "
                             "nodes, require both. The rate of a link is not enough: its effect is known for "
                             "all-reduces only."),
                          {{"", measured, {}}, {logs_key, tr("logs of nccl-tests…"), {}}}, content));

  column_->addWidget(knob_heading(tr("What if: sharding"), this));
  add("reshard_after_forward",
      new Choice(tr("Reshard after forward"),
                 tr("Off: a rank keeps gathered parameters until the backward, and gathers a unit once per step."),
                 {{"", measured, {}},
                  {"reshard_after_forward=off", tr("off: gather once"), {}},
                  {"reshard_after_forward=on", tr("on: gather twice"), {}}},
                 content));
  add("prefetch", new Choice(tr("Prefetch"), tr("Off: the rank waits for each collective."),
                             {{"", measured, {}}, {"prefetch=off", tr("off"), {}}}, content));
  add("replicate", new Knob(tr("Replicas"), tr("HSDP: the number of shard groups that replicate the shards."),
                            {1.0, 64.0, true, true}, {}, 0, content));
  add("strategy", new Choice(tr("Strategy"), tr("DDP: every rank keeps all parameters."),
                             {{"", measured, {}}, {"strategy=ddp", tr("DDP: no shards"), {}}}, content));
  add("precision", new Choice(tr("16-bit numbers"), tr("The whole model in 16 bits."),
                              {{"", measured, {}},
                               {"precision=fp16", tr("model in fp16"), {}},
                               {"precision=bf16", tr("model in bf16"), {}}},
                              content));
  column_->addWidget(knob_heading(tr("What if: machine"), this));
  const QString times = tr(" ×");
  add("bandwidth", new Knob(tr("Link bandwidth"), tr("Factor on the fitted bandwidth of a link."),
                            {0.05, 20.0, true, false}, times, 3, content));
  add("latency", new Knob(tr("Link latency"), tr("Factor on the fitted latency of one hop."), {0.05, 20.0, true, false},
                          times, 3, content));
  add("compute", new Knob(tr("Compute speed"), tr("Factor on the speed of forward, backward and optimizer."),
                          {0.1, 20.0, true, false}, times, 3, content));
  for (const char* key : {"replicate", "bandwidth", "latency", "compute"}) numbers_.at(key)->set_measured(1.0);
  reset_changes();
  column_->addStretch(1);
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setMinimumWidth(content->minimumSizeHint().width() + scroll->verticalScrollBar()->sizeHint().width() + 4);
  return scroll;
}

QWidget* ShardedPanel::make_answer() {
  auto* words = new QWidget(this);
  auto* column = new QVBoxLayout(words);
  column->addLayout(answer_head(heading_, busy_));
  prepare_sentences(summary_);
  QScrollArea* text = scrolled(summary_, words);
  text->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  column->addWidget(text, 1);

  auto* help = new QWidget(this);
  auto* below = new QVBoxLayout(help);
  make_bold(levers_title_, body_px);
  levers_title_->setWordWrap(true);
  below->addWidget(levers_title_);
  connect(levers_, &TableView::row_chosen, this, &ShardedPanel::turn);
  below->addWidget(levers_, 1);
  auto* upper = new QSplitter(Qt::Horizontal, this);
  upper->setObjectName("sharded words");
  upper->addWidget(words);
  upper->addWidget(help);
  upper->setStretchFactor(0, 2);
  upper->setStretchFactor(1, 3);
  upper->setSizes({400, 600});
  upper->setChildrenCollapsible(false);

  auto* tables = new QWidget(this);
  auto* lower = new QVBoxLayout(tables);
  command_->setContentsMargins(grid_px, 0, grid_px, grid_px / 2);
  connect(command_, &ShellLine::status_message, this, &ShardedPanel::status_message);
  lower->addWidget(command_);
  predictions_ = tabs_->add(tr("Predictions"));
  what_if_ = tabs_->add(tr("What if"));
  memory_ = tabs_->add(tr("Memory"));
  notes_ = tabs_->add(tr("Notes"));
  predictions_->view().setWordWrap(false);  // long notes at the right would make its rows tall
  lower->addWidget(tabs_, 1);
  auto* down = new QSplitter(Qt::Vertical, this);
  down->setObjectName("sharded answer");
  down->addWidget(upper);
  down->addWidget(tables);
  down->setChildrenCollapsible(false);
  return down;
}

void ShardedPanel::add(const std::string& name, Knob* knob) {
  column_->addWidget(knob);
  numbers_[name] = knob;
  connect(knob, &Knob::changed, this, &ShardedPanel::read);
  connect(knob, &Knob::refused, this, [this, knob](const QString& typed) {
    emit status_message(
        tr("%1: “%2” was not used: expected %3.").arg(knob->label(), typed.trimmed(), knob->expected()));
  });
}

void ShardedPanel::add(const std::string& name, Choice* list) {
  column_->addWidget(list);
  lists_[name] = list;
  if (name == "links")
    connect(list, &Choice::changed, this, &ShardedPanel::choose_logs);
  else
    connect(list, &Choice::changed, this, &ShardedPanel::read);
}

void ShardedPanel::choose_logs(const QString& key) {
  if (key != logs_key) return read();
  QString now;
  for (const auto& [entry, logs] : known_logs_)
    if (logs == Logs(question_.gather_logs, question_.scatter_logs)) now = entry;
  lists_.at("links")->set_value(now);
  const QStringList paths = QFileDialog::getOpenFileNames(
      this, tr("Outputs of nccl-tests' all_gather_perf and reduce_scatter_perf on the predicted machines"),
      QString::fromStdString(file_->path.parent_path().string()), tr("Logs (*.log *.txt *.json);;All files (*)"));
  if (paths.isEmpty()) return;
  if (const QString why = set_logs(paths); !why.isEmpty()) emit status_message(why);
}

QString ShardedPanel::set_logs(const QStringList& paths) {
  ShardedQuestion asked;
  QStringList names;
  for (const QString& path : paths) {
    if (const std::string why = add_log(asked, path.toStdString()); !why.empty()) return QString::fromStdString(why);
    names << QString::fromStdString(std::filesystem::path(path.toStdString()).filename().string());
  }
  const QString entry = names.join(QStringLiteral(", "));
  known_logs_[entry] = {asked.gather_logs, asked.scatter_logs};
  lists_.at("links")->set_value(entry);
  read();
  return {};
}

void ShardedPanel::reset_changes() {
  for (const char* key : change_keys) {
    if (lists_.contains(key))
      lists_.at(key)->set_value({});
    else
      numbers_.at(key)->set_value(1.0);
  }
}

void ShardedPanel::reset() {
  if (!file_) return;
  const ShardedQuestion own = first_question(*file_);
  numbers_.at("workers")->set_value(static_cast<double>(own.workers));
  numbers_.at("gpus_per_node")->set_value(static_cast<double>(own.gpus_per_node));
  lists_.at("links")->set_value({});
  reset_changes();
  read();
}

void ShardedPanel::set_alone(const std::string& change) {
  const std::size_t equals = change.find('=');
  const std::string key = change.substr(0, equals);
  reset_changes();
  if (lists_.contains(key))
    lists_.at(key)->set_value(QString::fromStdString(change));
  else
    numbers_.at(key)->set_value(std::stod(change.substr(equals + 1)));
  read();
}

void ShardedPanel::read() {
  if (!file_) return;
  ShardedQuestion asked;
  asked.workers = rounded(*numbers_.at("workers"));
  asked.gpus_per_node = rounded(*numbers_.at("gpus_per_node"));
  if (const auto logs = known_logs_.find(lists_.at("links")->value()); logs != known_logs_.end())
    std::tie(asked.gather_logs, asked.scatter_logs) = logs->second;
  for (const std::string key : change_keys) {
    if (const auto list = lists_.find(key); list != lists_.end()) {
      if (!list->second->value().isEmpty()) asked.changes.push_back(list->second->value().toStdString());
      continue;
    }
    const Knob& knob = *numbers_.at(key);
    if (knob.value() == 1.0) continue;
    const QString number = QString::number(knob.value(), 'g', QLocale::FloatingPointShortest);
    asked.changes.push_back(key + "=" + number.toStdString() + (key == "replicate" ? "" : "x"));
  }
  if (asked == question_) return;
  question_ = asked;
  ask();
}

void ShardedPanel::ask() {
  answering_.cancel();
  command_->set_command(QString::fromStdString(command_line(*file_, question_)));
  rests_.start();
  busy_->setVisible(true);
}

void ShardedPanel::predict() {
  if (!file_) return;
  answering_.start([file = file_, question = question_](const Cancelled&) { return answer(*file, question); },
                   [this](const ShardedAnswer& made) { show_answer(made); },
                   [this](const std::string& why) {
                     ShardedAnswer none;
                     none.sentences = {{"Not predicted", why, true}};
                     show_answer(none);
                   });
}

void ShardedPanel::show_file(std::shared_ptr<const OpenedFile> file) {
  answering_.cancel();
  rests_.stop();
  file_ = std::move(file);
  question_ = file_ ? first_question(*file_) : ShardedQuestion{};
  setEnabled(file_ != nullptr);  // a search for knobs then finds those of the page that is shown
  choice_.reset();
  show_answer({});
  if (!file_) return;
  for (const auto& [name, value] :
       {std::pair{"workers", question_.workers}, {"gpus_per_node", question_.gpus_per_node}}) {
    numbers_.at(name)->set_measured(static_cast<double>(value));
    numbers_.at(name)->set_value(static_cast<double>(value));
  }
  const std::optional<std::int64_t> automatic = automatic_gpus_per_node(*file_);
  numbers_.at("gpus_per_node")->set_zero(automatic ? tr("automatic (%1)").arg(*automatic) : tr("automatic (all)"));
  lists_.at("links")->set_value({});
  reset_changes();
  ask();
}

void ShardedPanel::show_answer(const ShardedAnswer& made) {
  heading_->setText(file_ ? tr("At N = %1").arg(question_.workers) : QString());
  summary_->setText(made.sentences.empty() ? QString() : sentences_html(made.sentences, false));
  levers_title_->setText(QString::fromStdString(made.levers.title));
  levers_->set_table(made.levers);
  predictions_->set_table(made.predictions);
  what_if_->set_table(made.what_if);
  memory_->set_table(made.memory);
  notes_->set_table(made.notes);
  tabs_->setTabEnabled(tabs_->indexOf(what_if_), !made.what_if.rows.empty());
  tabs_->setTabText(tabs_->indexOf(notes_),
                    made.notes.rows.empty() ? tr("Notes") : tr("Notes (%1)").arg(made.notes.rows.size()));
  if (isVisible()) levers_->tighten();
  if (made.choice == choice_) return;
  choice_ = made.choice;
  emit choice_changed();
}

void ShardedPanel::turn(int row) {
  const report::Table& table = levers_->model_of_table().table();
  if (busy() || row >= static_cast<int>(table.rows.size())) return;
  const auto change = report::value_of<std::string>(table, table.rows[static_cast<std::size_t>(row)], "change");
  if (!change) return;
  set_alone(*change);
  emit status_message(tr("Set alone: %1 (Ctrl+0 resets it)").arg(QString::fromStdString(*change)));
}

// The table has its width only when the page is shown.
void ShardedPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (layout() != nullptr) layout()->activate();
  levers_->tighten();
}

QString ShardedPanel::summary() const {
  return heading_->text() + '\n' + QTextDocumentFragment::fromHtml(summary_->text()).toPlainText();
}

QString ShardedPanel::command() const { return command_->command(); }

TableView& ShardedPanel::predictions() { return predictions_->view(); }

}  // namespace ddpprof::gui::whatif
