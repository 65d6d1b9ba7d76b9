// The controls of the page and the handling of edits.
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <algorithm>
#include <cmath>

#include "gui/pages/learning_rate/learning_rate_page.hpp"
#include "gui/pages/learning_rate/recorded_form.hpp"
#include "simulator/learning_rate/linear_rule.hpp"

namespace ddpprof::gui {
namespace {

// The slider has sixteen positions per factor of two.
constexpr int places_a_doubling = 16, most_doublings = 12;

int place_of(std::int64_t workers) {
  return static_cast<int>(std::lround(std::log2(static_cast<double>(workers)) * places_a_doubling));
}

int workers_at(int place) {
  return static_cast<int>(std::lround(std::exp2(static_cast<double>(place) / places_a_doubling)));
}

constexpr int most_batch = 100'000'000, most_accumulation = 100'000;
// Keeps the global batch below the integer limit even at the largest number of workers.
constexpr auto most_samples_per_worker =
    static_cast<std::int64_t>(learning_rate::most_counted / static_cast<double>(most_rate_workers));

// Shows a number with all its digits and without trailing zeros.
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
  base_workers_->setObjectName("base_workers");
  base_batch_ = count_box(controls, most_batch);
  base_batch_->setObjectName("base_batch");
  base_batch_->setMinimum(0);
  base_batch_->setSpecialValueText(tr("–"));
  base_batch_->setToolTip(tr("The global batch for which the base rate was tuned; replaces “Tuned at N”"));
  batch_ = count_box(controls, most_batch);
  batch_->setObjectName("batch");
  accumulation_ = count_box(controls, most_accumulation);
  accumulation_->setObjectName("accumulation");
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
  target_loss_ = new DigitsBox(-1e9, 1e9, controls);
  target_loss_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
  target_loss_->setKeyboardTracking(false);
  target_loss_->setObjectName("target_loss");
  axis_ = new QComboBox(controls);
  axis_->addItems({tr("steps"), tr("epochs")});
  reset_ = new QPushButton(controls);

  auto* form = form_ = new QFormLayout(controls);
  form->addRow(tr("&N [workers]"), workers_);
  form->addRow(workers_slider_);
  form->addRow(tr("Base &rate"), base_lr_);
  form->addRow(tr("Tun&ed at N ="), base_workers_);
  form->addRow(tr("or b&y batch [samples]"), base_batch_);
  form->addRow(tr("Batch per &worker [samples]"), batch_);
  form->addRow(tr("A&ccumulation [micro-batches]"), accumulation_);
  form->addRow(tr("E&pochs"), epochs_);
  form->addRow(tr("War&m-up [epochs]"), warmup_epochs_);
  form->addRow(adaptive_);
  form->addRow(tr("Target l&oss"), target_loss_);
  recorded_ = new RecordedForm(*form, controls);
  form->addRow(tr("Ta&bles also at N ="), list_);
  form->addRow(list_problem_);
  form->addRow(tr("Plot a&gainst"), axis_);
  form->addRow(reset_);
  controls_ = new QScrollArea(parent);
  controls_->setWidgetResizable(true);
  controls_->setFrameShape(QFrame::NoFrame);
  controls_->setWidget(controls);

  connect(workers_slider_, &QSlider::valueChanged, this, [this](int place) { workers_->setValue(workers_at(place)); });
  connect_edits();
  connect(axis_, &QComboBox::currentIndexChanged, this, &LearningRatePage::show_answer);
  connect(list_, &QLineEdit::textChanged, this, &LearningRatePage::read_list);
  connect(reset_, &QPushButton::clicked, this, &LearningRatePage::restore);
  connect(recorded_, &RecordedForm::edited, this, &LearningRatePage::show_given);
  return controls_;
}

// Each control writes only its own value, because the other controls may show fewer digits than the scenario has.
void LearningRatePage::connect_edits() {
  const auto edited = [this](const auto& write) {
    return [this, write](auto value) {
      write(value);
      show_edit();
    };
  };
  connect(workers_, &QSpinBox::valueChanged, this, edited([this](int value) { inputs_.workers = value; }));
  connect(base_workers_, &QSpinBox::valueChanged, this, edited([this](int value) {
            inputs_.options.base_workers = value;
            inputs_.options.tuned_batch.reset();
            show_base_batch();
          }));
  connect(base_batch_, &QSpinBox::valueChanged, this, edited([this](int value) {
            inputs_.options.tuned_batch = value > 0 ? std::optional<std::int64_t>(value) : std::nullopt;
          }));
  connect(batch_, &QSpinBox::valueChanged, this, edited([this](int value) {
            inputs_.ask_batch(value, inputs_.accumulation);
            limit_batch();
            show_base_batch();
          }));
  connect(accumulation_, &QSpinBox::valueChanged, this, edited([this](int value) {
            inputs_.ask_batch(inputs_.batch, value);
            limit_batch();
            show_base_batch();
          }));
  connect(epochs_, &QSpinBox::valueChanged, this, edited([this](int value) { inputs_.options.epochs = value; }));
  connect(base_lr_, &QDoubleSpinBox::valueChanged, this,
          edited([this](double value) { inputs_.options.base_lr = value; }));
  connect(warmup_epochs_, &QDoubleSpinBox::valueChanged, this,
          edited([this](double value) { inputs_.options.warmup_epochs = value; }));
  connect(adaptive_, &QCheckBox::toggled, this, edited([this](bool value) { inputs_.set_adaptive(value, stored()); }));
  connect(target_loss_, &QDoubleSpinBox::valueChanged, this,
          edited([this](double value) { inputs_.target_loss = value; }));
}

void LearningRatePage::show_rows(bool recorded) {
  for (QWidget* of_scenario :
       std::initializer_list<QWidget*>{base_lr_, base_workers_, base_batch_, batch_, accumulation_, epochs_,
                                       warmup_epochs_, adaptive_, target_loss_})
    form_->setRowVisible(of_scenario, !recorded);
  recorded_->set_visible(recorded);
  reset_->setText(recorded ? tr("Bac&k to the recorded values") : tr("Bac&k to the scenario's values"));
  // A narrow window takes its width from the texts, which wrap, and not from the fields.
  controls_->setMinimumWidth(controls_->widget()->minimumSizeHint().width() +
                             controls_->verticalScrollBar()->sizeHint().width());
}

// The largest allowed value of one factor depends on the other factor.
void LearningRatePage::limit_batch() {
  batch_->setMaximum(as_int(std::min<std::int64_t>(most_batch, most_samples_per_worker / inputs_.accumulation)));
  accumulation_->setMaximum(as_int(std::min<std::int64_t>(most_accumulation, most_samples_per_worker / inputs_.batch)));
}

void LearningRatePage::show_base_batch() {
  const QSignalBlocker quiet(base_batch_);
  base_batch_->setValue(as_int(inputs_.options.tuned_batch.value_or(0)));
}

void LearningRatePage::show_inputs() {
  const QSignalBlocker quiet[] = {QSignalBlocker(workers_),  QSignalBlocker(workers_slider_),
                                  QSignalBlocker(base_lr_),  QSignalBlocker(base_workers_),
                                  QSignalBlocker(batch_),    QSignalBlocker(accumulation_),
                                  QSignalBlocker(epochs_),   QSignalBlocker(warmup_epochs_),
                                  QSignalBlocker(adaptive_), QSignalBlocker(list_)};
  workers_->setValue(as_int(inputs_.workers));
  workers_slider_->setValue(place_of(inputs_.workers));
  list_->setText(QString::fromStdString(workers_text(inputs_.options.workers)));
  list_problem_->hide();
  if (inputs_.recorded) recorded_->show_recorded(*file_->recorded_rate);
  show_rows(inputs_.recorded);
  if (inputs_.recorded) return;
  base_lr_->setValue(inputs_.options.base_lr);
  base_workers_->setValue(as_int(inputs_.options.base_workers));
  show_base_batch();
  limit_batch();
  batch_->setValue(as_int(inputs_.batch));
  accumulation_->setValue(as_int(inputs_.accumulation));
  epochs_->setValue(as_int(inputs_.options.epochs));
  warmup_epochs_->setValue(inputs_.options.warmup_epochs);
  adaptive_->setChecked(inputs_.options.adaptive_optimizer);
}

void LearningRatePage::show_edit() {
  const QSignalBlocker quiet(workers_slider_);
  workers_slider_->setValue(place_of(inputs_.workers));
  show_answer();
  predict_times();
}

}  // namespace ddpprof::gui
