#include "gui/pages/learning_rate/learning_rate_page.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/pages/learning_rate/schedule_plot.hpp"
#include "gui/plots/colours.hpp"
#include "gui/widgets/message_stack.hpp"

namespace ddpprof::gui {
namespace {

// The slider runs over powers of two: sixteen places each.
constexpr int places_a_doubling = 16, most_doublings = 12;

int place_of(std::int64_t workers) {
  return static_cast<int>(std::lround(std::log2(static_cast<double>(workers)) * places_a_doubling));
}

int workers_at(int place) {
  return static_cast<int>(std::lround(std::exp2(static_cast<double>(place) / places_a_doubling)));
}

// Shows a number with the digits it has.
class DigitsBox : public QDoubleSpinBox {
 public:
  DigitsBox(double low, double high, QWidget* parent) : QDoubleSpinBox(parent) {
    setDecimals(8);
    setRange(low, high);
  }
  QString textFromValue(double value) const override { return locale().toString(value, 'g', 8); }
};

QSpinBox* count_box(QWidget* parent, int most) {
  auto* box = new QSpinBox(parent);
  box->setRange(1, most);
  box->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
  box->setKeyboardTracking(false);
  return box;
}

int as_int(std::int64_t value) { return static_cast<int>(std::min<std::int64_t>(value, 1'000'000'000)); }

}  // namespace

LearningRatePage::LearningRatePage(Selection& selection, QWidget* parent) : Page(selection, parent), predicting_(this) {
  stack_ = new MessageStack(make_content(), this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  show_file(nullptr);
}

QWidget* LearningRatePage::make_controls(QWidget* parent) {
  auto* controls = new QWidget(parent);
  workers_ = count_box(controls, as_int(most_rate_workers));
  workers_->setObjectName("workers");
  workers_slider_ = new QSlider(Qt::Horizontal, controls);
  workers_slider_->setRange(0, places_a_doubling * most_doublings);
  workers_slider_->setPageStep(places_a_doubling);
  workers_slider_->setAccessibleName(tr("N, from 1 to 4096"));
  base_lr_ = new DigitsBox(1e-8, 1e4, controls);
  base_lr_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
  base_lr_->setObjectName("base_lr");
  base_workers_ = count_box(controls, as_int(most_rate_workers));
  batch_ = count_box(controls, 100'000'000);
  batch_->setObjectName("batch");
  accumulation_ = count_box(controls, 100'000);
  epochs_ = count_box(controls, 1'000'000);
  epochs_->setObjectName("epochs");
  warmup_epochs_ = new DigitsBox(0.0, 10'000.0, controls);
  warmup_epochs_->setObjectName("warmup_epochs");
  adaptive_ = new QCheckBox(tr("Adaptive optimi&zer (Adam)"), controls);
  list_ = new QLineEdit(controls);
  list_->setObjectName("list");
  list_->setPlaceholderText("8, 16, 64");
  list_problem_ = new QLabel(controls);
  list_problem_->setObjectName("list_problem");
  list_problem_->setWordWrap(true);
  list_problem_->hide();
  axis_ = new QComboBox(controls);
  axis_->addItems({tr("steps"), tr("epochs")});
  auto* reset = new QPushButton(tr("Scenario's values a&gain"), controls);

  auto* form = new QFormLayout(controls);
  form->addRow(tr("&N [workers]"), workers_);
  form->addRow(workers_slider_);
  form->addRow(tr("Base &rate"), base_lr_);
  form->addRow(tr("Tun&ed at N ="), base_workers_);
  form->addRow(tr("Batch a &worker [samples]"), batch_);
  form->addRow(tr("A&ccumulation [micro-batches]"), accumulation_);
  form->addRow(tr("E&pochs"), epochs_);
  form->addRow(tr("War&m-up [epochs]"), warmup_epochs_);
  form->addRow(adaptive_);
  form->addRow(tr("Ta&bles at N ="), list_);
  form->addRow(list_problem_);
  form->addRow(tr("Pl&ot against"), axis_);
  form->addRow(reset);
  auto* scroll = new QScrollArea(parent);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(controls);

  connect(workers_slider_, &QSlider::valueChanged, this, [this](int place) { workers_->setValue(workers_at(place)); });
  connect_edits();
  connect(axis_, &QComboBox::currentIndexChanged, this, &LearningRatePage::show_answer);
  connect(list_, &QLineEdit::textChanged, this, &LearningRatePage::read_list);
  connect(reset, &QPushButton::clicked, this, &LearningRatePage::restore);
  return scroll;
}

// Each control writes what it is of and nothing else: the others may show fewer digits than the scenario has.
void LearningRatePage::connect_edits() {
  const auto edited = [this](const auto& write) {
    return [this, write](auto value) {
      write(value);
      show_edit();
    };
  };
  connect(workers_, &QSpinBox::valueChanged, this, edited([this](int value) { inputs_.workers = value; }));
  connect(base_workers_, &QSpinBox::valueChanged, this,
          edited([this](int value) { inputs_.options.base_workers = value; }));
  connect(batch_, &QSpinBox::valueChanged, this,
          edited([this](int value) { inputs_.set_batch(value, inputs_.accumulation); }));
  connect(accumulation_, &QSpinBox::valueChanged, this,
          edited([this](int value) { inputs_.set_batch(inputs_.batch, value); }));
  connect(epochs_, &QSpinBox::valueChanged, this, edited([this](int value) { inputs_.options.epochs = value; }));
  connect(base_lr_, &QDoubleSpinBox::valueChanged, this,
          edited([this](double value) { inputs_.options.base_lr = value; }));
  connect(warmup_epochs_, &QDoubleSpinBox::valueChanged, this,
          edited([this](double value) { inputs_.options.warmup_epochs = value; }));
  connect(adaptive_, &QCheckBox::toggled, this,
          edited([this](bool value) { inputs_.options.adaptive_optimizer = value; }));
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
  plot_ = new SchedulePlot(content);
  auto* right = new QWidget(content);
  auto* right_layout = new QVBoxLayout(right);
  right_layout->setContentsMargins(0, 0, 0, 0);
  right_layout->addWidget(answer_);
  right_layout->addWidget(plot_, 1);
  right_layout->addWidget(limits_);
  auto* upper = new QSplitter(Qt::Horizontal, content);
  upper->addWidget(controls);
  upper->addWidget(right);
  upper->setStretchFactor(1, 1);

  auto* tables = new TableTabs(content);
  rates_table_ = tables->add(tr("Learning rate"));
  warmup_table_ = tables->add(tr("Warm-up"));
  rules_table_ = tables->add(tr("By rule"));
  times_table_ = tables->add(tr("Time of the training"));
  auto* halves = over_tables(upper, tables, content);
  auto* layout = new QVBoxLayout(content);
  layout->addWidget(halves);
  connect(plot_, &Plot::says, this, &Page::says);
  return content;
}

void LearningRatePage::show_file(std::shared_ptr<const OpenedFile> file) {
  file_ = std::move(file);
  predicting_.cancel();
  if (!file_) {
    stack_->say(tr("No file is open. Open a trace database (Ctrl+O), or make one with: ddpprof run SCENARIO.yaml"));
    return;
  }
  if (!file_->learning_rate) {
    stack_->say(tr("No learning rate can be said: %1").arg(QString::fromStdString(file_->why_no_learning_rate)));
    return;
  }
  say_no_times(tr("Predicting…"));  // and not the times of the file before
  restore();
  stack_->show_content();
}

void LearningRatePage::restore() {
  if (!file_ || !file_->learning_rate) return;
  inputs_ = {};
  inputs_.options = *file_->learning_rate;
  if (file_->scenario)
    inputs_.set_batch(file_->scenario->workload.batch_per_worker, file_->scenario->workload.accumulation);
  inputs_.workers = inputs_.options.workers.empty()
                        ? 1
                        : *std::max_element(inputs_.options.workers.begin(), inputs_.options.workers.end());
  show_inputs();
  show_answer();
  predict_times();
}

void LearningRatePage::show_inputs() {
  const QSignalBlocker quiet[] = {QSignalBlocker(workers_),  QSignalBlocker(workers_slider_),
                                  QSignalBlocker(base_lr_),  QSignalBlocker(base_workers_),
                                  QSignalBlocker(batch_),    QSignalBlocker(accumulation_),
                                  QSignalBlocker(epochs_),   QSignalBlocker(warmup_epochs_),
                                  QSignalBlocker(adaptive_), QSignalBlocker(list_)};
  workers_->setValue(as_int(inputs_.workers));
  workers_slider_->setValue(place_of(inputs_.workers));
  base_lr_->setValue(inputs_.options.base_lr);
  base_workers_->setValue(as_int(inputs_.options.base_workers));
  batch_->setValue(as_int(inputs_.batch));
  accumulation_->setValue(as_int(inputs_.accumulation));
  epochs_->setValue(as_int(inputs_.options.epochs));
  warmup_epochs_->setValue(inputs_.options.warmup_epochs);
  adaptive_->setChecked(inputs_.options.adaptive_optimizer);
  list_->setText(QString::fromStdString(workers_text(inputs_.options.workers)));
  list_problem_->hide();
}

void LearningRatePage::show_edit() {
  const QSignalBlocker quiet(workers_slider_);
  workers_slider_->setValue(place_of(inputs_.workers));
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
  const ScheduleAxis axis = axis_->currentIndex() == 0 ? ScheduleAxis::steps : ScheduleAxis::epochs;
  plot_->show_curves(schedule_curves(inputs_, axis), axis);
  answer_->setText(QString::fromStdString(answer_text(inputs_)));
  limits_->setText(QString::fromStdString(limits_text(inputs_)));
  rates_table_->set_table(rate_table(inputs_));
  warmup_table_->set_table(gui::warmup_table(inputs_));
  rules_table_->set_table(report::rules_table(inputs_.options));
}

void LearningRatePage::predict_times() {
  if (!file_->models) {
    say_no_times(tr("No time can be predicted: %1").arg(QString::fromStdString(file_->why_no_models)));
    return;
  }
  predicting_.start(
      [models = file_->models, options = file_->predict, inputs = inputs_](const Cancelled& cancelled) {
        return report::training_time_table(inputs.options, training_times(*models, options, inputs, cancelled));
      },
      [this](report::Table table) { times_table_->set_table(std::move(table)); },
      [this](const std::string& why) { say_no_times(QString::fromStdString(why)); });
}

void LearningRatePage::say_no_times(const QString& why) {
  report::Table none;
  none.empty = why.toStdString();
  times_table_->set_table(std::move(none));
}

}  // namespace ddpprof::gui
