#include "gui/pages/learning_rate/learning_rate_page.hpp"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/pages/learning_rate/recorded_form.hpp"
#include "gui/pages/learning_rate/schedule_plot.hpp"
#include "gui/plots/colours.hpp"
#include "gui/widgets/message_stack.hpp"
#include "gui/widgets/shell_line.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {

LearningRatePage::LearningRatePage(Selection& selection, QWidget* parent) : Page(selection, parent), predicting_(this) {
  stack_ = new MessageStack(make_content(), this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  show_file(nullptr);
}

QWidget* LearningRatePage::make_content() {
  auto* content = new QWidget(this);
  QWidget* controls = make_controls(content);
  const auto text = [&](const char* name) {
    auto* label = new QLabel(content);
    label->setObjectName(name);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
  };
  answer_ = text("answer");
  limits_ = text("limits");
  target_ = text("target");
  plot_ = new SchedulePlot(content);
  auto* right = new QWidget(content);
  auto* right_layout = new QVBoxLayout(right);
  right_layout->setContentsMargins(0, 0, 0, 0);
  right_layout->addWidget(answer_);
  right_layout->addWidget(plot_, 1);
  right_layout->addWidget(limits_);
  right_layout->addWidget(target_);
  command_ = new ShellLine(content);
  connect(command_, &ShellLine::status_message, this, &LearningRatePage::status_message);
  right_layout->addWidget(command_);
  right_layout->addStretch(0);  // takes the plot's place where it is hidden
  auto* upper = new QSplitter(Qt::Horizontal, content);
  upper->setObjectName("learning rate");
  upper->addWidget(controls);
  upper->addWidget(scrolled(right, upper));
  upper->setStretchFactor(1, 1);

  auto* tables = tables_ = new TableTabs(content);
  rates_table_ = tables->add(tr("Learning rate"));
  warmup_table_ = tables->add(tr("Warm-up"));
  rules_table_ = tables->add(tr("By rule"));
  times_table_ = tables->add(tr("Time of the training"));
  target_table_ = tables->add(tr("Time to a target loss"));
  schedules_table_ = tables->add(tr("Schedules"));
  batches_table_ = tables->add(tr("Larger batches"));
  cost_table_ = tables->add(tr("Time and cost"));
  noise_table_ = tables->add(tr("Gradient noise"));
  trained_table_ = tables->add(tr("As trained"));
  choice_table_ = tables->add(tr("For the optimizer"));
  auto* halves = over_tables(upper, tables, content);
  halves->setObjectName("learning rate tables");
  auto* layout = new QVBoxLayout(content);
  layout->addWidget(halves);
  connect(plot_, &Plot::status_message, this, &Page::status_message);
  return content;
}

void LearningRatePage::show_file(std::shared_ptr<const OpenedFile> file) {
  file_ = std::move(file);
  predicting_.cancel();
  if (!file_) {
    stack_->show_message(
        tr("No file is open. Open a trace database (Ctrl+O), or measure one with: ddpprof run SCENARIO.yaml"));
    return;
  }
  if (!has_rates()) {
    stack_->show_message(
        tr("Cannot compute a learning rate: %1").arg(QString::fromStdString(file_->why_no_learning_rate)));
    return;
  }
  show_no_times(tr("Predicting…"));  // clears the times of the previous file
  RecordedTables recorded = recorded_tables(*file_);
  noise_table_->set_table(std::move(recorded.noise));
  trained_table_->set_table(std::move(recorded.trained));
  restore();
  stack_->show_content();
}

RateInputs LearningRatePage::stored() const {
  if (!file_->learning_rate) return recorded_inputs(*file_, {});
  RateInputs inputs;
  inputs.options = *file_->learning_rate;
  inputs.adaptive = inputs.options.adaptive_optimizer;
  if (file_->scenario) {
    inputs.set_batch(file_->scenario->workload.batch_per_worker, file_->scenario->workload.accumulation);
    inputs.optimizer = scenario::to_string(file_->scenario->workload.optimizer.kind);
  }
  inputs.workers = inputs.options.workers.empty()
                       ? 1
                       : *std::max_element(inputs.options.workers.begin(), inputs.options.workers.end());
  inputs.set_measured_noise_scale(file_->noise);
  return inputs;
}

bool LearningRatePage::has_rates() const { return file_ && (file_->learning_rate || file_->recorded_rate); }

void LearningRatePage::restore() {
  if (!has_rates()) return;
  inputs_ = stored();
  show_inputs();
  show_answer();
  predict_times();
}

void LearningRatePage::read_list() {
  std::string why;
  const auto workers = parse_workers(list_->text().toStdString(), why);
  list_problem_->setText(QString::fromStdString(why));
  list_problem_->setVisible(!workers);
  if (!workers) return;
  inputs_.options.workers = *workers;
  show_answer();
  predict_times();
}

void LearningRatePage::show_given() {
  try {
    RateInputs given = recorded_inputs(*file_, recorded_->given());
    given.workers = inputs_.workers;
    given.options.workers = inputs_.options.workers;
    inputs_ = std::move(given);
    show_edit();
  } catch (const std::invalid_argument& error) {  // the base batch is too large
    recorded_->show_problem(QString::fromUtf8(error.what()));
  }
}

void LearningRatePage::show_answer() {
  if (!has_rates()) return;
  if (inputs_.recorded) return show_recorded();
  inputs_.set_measured_noise_scale(file_->noise);
  show_plot(true);
  answer_->setText(QString::fromStdString(answer_text(inputs_)));
  limits_->setText(QString::fromStdString(limits_text(inputs_)));
  limits_->show();
  target_->show();
  command_->set_command(QString::fromStdString(command_line(file_->path.string(), inputs_, stored())));
  for (int tab = 0; tab < tables_->count(); ++tab) tables_->setTabVisible(tab, true);
  show_tables(rate_tables(inputs_));
}

// Of the tables those that `ddpprof lr` prints, and always the one of the rule for the optimizer.
void LearningRatePage::show_recorded() {
  RecordedRates shown = recorded_rates(*file_, inputs_, recorded_->given());
  show_plot(shown.steps);
  answer_->setText(QString::fromStdString(shown.text));
  limits_->setText(QString::fromStdString(shown.limits));
  limits_->setVisible(shown.rates);
  target_->hide();
  command_->set_command(QString::fromStdString(shown.command));
  const bool noise = inputs_.noise_scale_samples.has_value();
  const std::pair<TableOrMessage*, bool> visible[] = {{choice_table_, true},
                                                      {rates_table_, shown.rates},
                                                      {rules_table_, shown.rates},
                                                      {batches_table_, shown.rates && noise},
                                                      {warmup_table_, shown.steps},
                                                      {times_table_, shown.steps},
                                                      {schedules_table_, shown.steps},
                                                      {cost_table_, shown.steps && noise},
                                                      {noise_table_, !file_->noise.empty()},
                                                      {target_table_, false},
                                                      {trained_table_, false}};
  for (const auto& [table, on] : visible) tables_->setTabVisible(tables_->indexOf(table), on);
  show_tables(std::move(shown.tables));
}

void LearningRatePage::show_plot(bool visible) {
  const ScheduleAxis axis = axis_->currentIndex() == 0 ? ScheduleAxis::steps : ScheduleAxis::epochs;
  form_->setRowVisible(axis_, visible);
  plot_->setVisible(visible);
  if (visible) plot_->show_curves(schedule_curves(inputs_, axis), axis);
}

void LearningRatePage::show_tables(RateTables tables) {
  rates_table_->set_table(std::move(tables.rates));
  warmup_table_->set_table(std::move(tables.warmup));
  rules_table_->set_table(std::move(tables.rules));
  choice_table_->set_table(std::move(tables.choice));
  schedules_table_->set_table(std::move(tables.schedules));
  batches_table_->set_table(std::move(tables.batches));
}

void LearningRatePage::predict_times() {
  if (!inputs_.options.steps_known) {
    predicting_.cancel();
    return show_no_times(tr("The steps of the training are not known"));
  }
  predicting_.start(
      [file = file_, inputs = inputs_](const Cancelled& cancelled) { return time_tables(*file, inputs, cancelled); },
      [this](TimeTables tables) {
        show_target(tables.default_target);
        target_->setText(QString::fromStdString(tables.target_text));
        times_table_->set_table(std::move(tables.training));
        target_table_->set_table(std::move(tables.target));
        cost_table_->set_table(std::move(tables.cost));
      },
      [this](const std::string& why) { show_no_times(QString::fromStdString(why)); });
}

// Shows the target loss that the table uses.
void LearningRatePage::show_target(std::optional<double> lowest) {
  const QSignalBlocker quiet(target_loss_);
  target_loss_->setEnabled(lowest.has_value());
  target_loss_->setToolTip(lowest ? tr("The target loss. Default: the lowest loss that every measured configuration "
                                       "reached, %1")
                                        .arg(QString::fromStdString(units::format_quantity(*lowest, "", 4)))
                                  : tr("The file has no loss for 10 steps in a row"));
  if (!inputs_.target_loss && !target_loss_->hasFocus())  // do not overwrite a number being typed
    target_loss_->setValue(lowest.value_or(0.0));
}

void LearningRatePage::show_no_times(const QString& why) {
  report::Table none;
  none.empty = why.toStdString();
  target_->clear();
  target_loss_->setEnabled(false);
  target_loss_->setToolTip(why);
  times_table_->set_table(none);
  cost_table_->set_table(none);
  target_table_->set_table(std::move(none));
}

}  // namespace ddpprof::gui
