#include "gui/widgets/knob.hpp"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QStandardItemModel>
#include <QToolButton>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace ddpprof::gui {
namespace {

// The wheel scrolls the panel; it changes a control only if that control has the focus.
class FocusedWheel : public QObject {
 public:
  using QObject::QObject;
  bool eventFilter(QObject* watched, QEvent* event) override {
    const auto* widget = qobject_cast<QWidget*>(watched);
    if (event->type() == QEvent::Wheel && widget != nullptr && !widget->hasFocus()) {
      event->ignore();
      return true;
    }
    return false;
  }
};

// A box that keeps a text with an unknown unit until it is complete, and then refuses it as a whole. QDoubleSpinBox
// drops the characters that it does not expect: "25Gbit/s" would become 2.
class StrictBox : public QDoubleSpinBox {
 public:
  StrictBox(Knob* knob) : QDoubleSpinBox(knob), knob_(knob) {}

  QValidator::State validate(QString& text, int& at) const override {
    return std::max(QDoubleSpinBox::validate(text, at), QValidator::Intermediate);
  }
  void fixup(QString& text) const override {
    const QString typed = text;
    text = prefix() + textFromValue(value()) + suffix();
    emit knob_->refused(typed);
  }

 private:
  Knob* knob_;
};

void leave_wheel(QWidget* widget) {
  widget->setFocusPolicy(Qt::StrongFocus);
  widget->installEventFilter(new FocusedWheel(widget));
}

}  // namespace

KnobBase::KnobBase(const QString& label, const QString& help, QWidget* parent)
    : QWidget(parent),
      text_(label),
      help_(help),
      grid_(new QGridLayout(this)),
      label_(new QLabel(label, this)),
      reset_(new QToolButton(this)) {
  grid_->setContentsMargins(0, 2, 0, 2);
  grid_->setHorizontalSpacing(6);
  grid_->setVerticalSpacing(0);
  grid_->setColumnStretch(0, 1);
  reset_->setText(QStringLiteral("↺"));
  reset_->setAutoRaise(true);
  reset_->setFocusPolicy(Qt::StrongFocus);
  reset_->setAccessibleName(tr("Reset %1").arg(this->label()));
  connect(reset_, &QToolButton::clicked, this, &KnobBase::reset);
  grid_->addWidget(label_, 0, 0);
  grid_->addWidget(reset_, 0, 2);
}

QString KnobBase::label() const { return QString(text_).remove('&'); }

void KnobBase::set_why_disabled(const QString& why) {
  why_disabled_ = why;
  setEnabled(why.isEmpty());
  setToolTip(why.isEmpty() ? help_ : help_ + "\n" + why);
}

void KnobBase::mark(const QString& measured) {
  const bool other = differs();
  QFont font = label_->font();
  font.setBold(other);
  label_->setFont(font);
  label_->setText(other ? QStringLiteral("● ") + text_ : text_);
  reset_->setEnabled(other);
  reset_->setToolTip(tr("Reset to the measured value: %1").arg(measured));
  setToolTip(why_disabled_.isEmpty() ? help_ : help_ + "\n" + why_disabled_);
}

Knob::Knob(const QString& label, const QString& help, const ValueRange& range, const QString& unit, int decimals,
           QWidget* parent, const QString& zero)
    : KnobBase(label, help, parent),
      usual_(range),
      range_(range),
      stops_(slider_stops(range)),
      value_(range.low),
      measured_(range.low),
      slider_(new QSlider(Qt::Horizontal, this)),
      box_(new StrictBox(this)) {
  slider_->setRange(0, static_cast<int>(stops_.size()) - 1);
  slider_->setSingleStep(1);
  slider_->setPageStep(std::max(1, static_cast<int>(stops_.size()) / 10));
  slider_->setAccessibleName(this->label());
  slider_->setAccessibleDescription(help);
  box_->setRange(range.low, range.high);
  box_->setDecimals(decimals);
  box_->setStepType(range.logarithmic ? QAbstractSpinBox::AdaptiveDecimalStepType : QAbstractSpinBox::DefaultStepType);
  box_->setSuffix(unit);
  if (!zero.isEmpty()) box_->setSpecialValueText(zero);
  box_->setKeyboardTracking(false);
  box_->setAlignment(Qt::AlignRight);
  box_->setAccessibleName(this->label());
  box_->setMinimumWidth(box_->fontMetrics().horizontalAdvance(QStringLiteral("0")) * 13);
  leave_wheel(slider_);
  leave_wheel(box_);
  label_widget()->setBuddy(slider_);
  grid()->addWidget(box_, 0, 1);
  grid()->addWidget(slider_, 1, 0, 1, 3);
  connect(slider_, &QSlider::valueChanged, this, [this](int at) { take(stops_[static_cast<std::size_t>(at)]); });
  connect(box_, qOverload<double>(&QDoubleSpinBox::valueChanged), this, &Knob::take);
  show_value();
}

void Knob::set_value(double value) {
  value_ = std::clamp(value, range_.low, range_.high);
  show_value();
}

void Knob::set_measured(double value) {
  measured_ = value;
  range_ = widened(usual_, value);
  // The measured value is a stop of the slider, so that the user can return to it.
  stops_ = slider_stops(range_);
  if (const auto at = std::lower_bound(stops_.begin(), stops_.end(), value); at != stops_.end() && *at != value)
    stops_.insert(at, value);
  {
    const QSignalBlocker quiet_slider(slider_), quiet_box(box_);
    slider_->setMaximum(static_cast<int>(stops_.size()) - 1);
    box_->setRange(range_.low, range_.high);
  }
  show_value();
}

void Knob::set_zero(const QString& text) {
  box_->setSpecialValueText(text);
  show_value();
}

bool Knob::differs() const { return value_ != measured_; }

QString Knob::expected() const {
  return tr("%1 to %2")
      .arg(box_->textFromValue(range_.low) + box_->suffix(), box_->textFromValue(range_.high) + box_->suffix());
}

void Knob::reset() {
  if (!differs()) return;
  take(measured_);
}

void Knob::take(double value) {
  if (range_.whole) value = std::round(value);
  // The box may show fewer digits than the measured value has.
  if (std::abs(value - measured_) < 0.5 * std::pow(10.0, -box_->decimals())) value = measured_;
  if (value == value_) {
    show_value();
    return;
  }
  value_ = value;
  show_value();
  emit changed(value_);
}

void Knob::show_value() {
  const QSignalBlocker quiet_slider(slider_), quiet_box(box_);
  slider_->setValue(static_cast<int>(nearest_stop(stops_, value_, range_.logarithmic)));
  box_->setValue(value_);
  mark(box_->prefix() + (measured_ == range_.low && !box_->specialValueText().isEmpty()
                             ? box_->specialValueText()
                             : box_->textFromValue(measured_) + box_->suffix()));
}

Choice::Choice(const QString& label, const QString& help, const std::vector<Option>& options, QWidget* parent)
    : KnobBase(label, help, parent), combo_(new QComboBox(this)) {
  for (const Option& option : options) {
    combo_->addItem(option.text, option.key);
    set_why_not(option.key, option.why_not);
  }
  measured_ = options.empty() ? QString() : options.front().key;
  combo_->setAccessibleName(this->label());
  combo_->setAccessibleDescription(help);
  combo_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo_->setMinimumContentsLength(10);
  leave_wheel(combo_);
  label_widget()->setBuddy(combo_);
  grid()->addWidget(combo_, 1, 0, 1, 3);
  connect(combo_, qOverload<int>(&QComboBox::currentIndexChanged), this, [this] {
    mark(measured_text());
    emit changed(value());
  });
  mark(measured_text());
}

QString Choice::value() const { return combo_->currentData().toString(); }

QString Choice::measured_text() const { return combo_->itemText(combo_->findData(measured_)); }

void Choice::set_value(const QString& key) {
  const QSignalBlocker quiet(combo_);
  if (combo_->findData(key) < 0) combo_->addItem(key, key);
  combo_->setCurrentIndex(combo_->findData(key));
  mark(measured_text());
}

void Choice::set_measured(const QString& key) {
  measured_ = key;
  mark(measured_text());
}

void Choice::set_why_not(const QString& key, const QString& why) {
  const int at = combo_->findData(key);
  auto* items = qobject_cast<QStandardItemModel*>(combo_->model());
  if (at < 0 || items == nullptr) return;
  items->item(at)->setEnabled(why.isEmpty());
  items->item(at)->setToolTip(why);
}

bool Choice::differs() const { return value() != measured_; }

void Choice::reset() {
  if (!differs()) return;
  combo_->setCurrentIndex(combo_->findData(measured_));
}

}  // namespace ddpprof::gui
