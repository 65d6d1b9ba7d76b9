#include "gui/pages/learning_rate/learning_rate_page.hpp"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

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
  auto* upper = new QSplitter(Qt::Horizontal, content);
  upper->setObjectName("learning rate");
  upper->addWidget(controls);
  upper->addWidget(scrolled(right, upper));
  upper->setStretchFactor(1, 1);

  auto* tables = new TableTabs(content);
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
  if (!file_->learning_rate) {
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

void LearningRatePage::restore() {
  if (!file_ || !file_->learning_rate) return;
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

void LearningRatePage::show_answer() {
  if (!file_ || !file_->learning_rate) return;
  inputs_.set_measured_noise_scale(file_->noise);
  const ScheduleAxis axis = axis_->currentIndex() == 0 ? ScheduleAxis::steps : ScheduleAxis::epochs;
  plot_->show_curves(schedule_curves(inputs_, axis), axis);
  answer_->setText(QString::fromStdString(answer_text(inputs_)));
  limits_->setText(QString::fromStdString(limits_text(inputs_)));
  command_->set_command(QString::fromStdString(command_line(file_->path.string(), inputs_, stored())));
  RateTables tables = rate_tables(inputs_);
  rates_table_->set_table(std::move(tables.rates));
  warmup_table_->set_table(std::move(tables.warmup));
  rules_table_->set_table(std::move(tables.rules));
  choice_table_->set_table(std::move(tables.choice));
  schedules_table_->set_table(std::move(tables.schedules));
  batches_table_->set_table(std::move(tables.batches));
}

void LearningRatePage::predict_times() {
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
