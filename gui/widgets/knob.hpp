// A control for a what-if value: a slider and a box for a number, or a list of choices. Each has its unit, a mark if it
// differs from the measured value, and a reset button.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/widgets/stops.hpp"

class QComboBox;
class QDoubleSpinBox;
class QGridLayout;
class QLabel;
class QSlider;
class QToolButton;

namespace ddpprof::gui {

// The common part of both kinds: the label, the mark and the reset button.
class KnobBase : public QWidget {
  Q_OBJECT

 public:
  // `label` with & before the accelerator key; `help` explains the knob.
  KnobBase(const QString& label, const QString& help, QWidget* parent);

  QToolButton* reset_button() { return reset_; }
  QString label() const;                  // without the &
  void set_why_disabled(const QString&);  // a reason disables the control; an empty text enables it
  virtual bool differs() const = 0;

 public slots:
  virtual void reset() = 0;

 protected:
  void mark(const QString& measured);  // call after every change: bold and dotted if the value differs
  QGridLayout* grid() { return grid_; }
  QLabel* label_widget() { return label_; }

 private:
  QString text_, help_, why_disabled_;
  QGridLayout* grid_;
  QLabel* label_;
  QToolButton* reset_;
};

class Knob : public KnobBase {
  Q_OBJECT

 public:
  // `unit` follows the number: "×" or " MiB". `zero` replaces the number at the lowest value; may be empty.
  Knob(const QString& label, const QString& help, const ValueRange& range, const QString& unit, int decimals,
       QWidget* parent = nullptr, const QString& zero = {});

  double value() const { return value_; }
  // These do not emit `changed`. The range is extended to contain the measured value.
  void set_value(double);
  void set_measured(double);
  void set_zero(const QString& text);  // replaces the number at the lowest value
  bool differs() const override;

  QSlider* slider() { return slider_; }
  QDoubleSpinBox* box() { return box_; }
  QString expected() const;  // the values that can be typed: "0.050 × to 20.000 ×"

 public slots:
  void reset() override;

 signals:
  void changed(double value);
  // The box's text is not a value of this knob. The value stays.
  void refused(const QString& text);

 private:
  void take(double value);  // from the user
  void show_value();

  const ValueRange usual_;
  ValueRange range_;
  std::vector<double> stops_;
  double value_, measured_;
  QSlider* slider_;
  QDoubleSpinBox* box_;
};

class Choice : public KnobBase {
  Q_OBJECT

 public:
  struct Option {
    QString key, text, why_not;  // a reason disables the option
  };
  Choice(const QString& label, const QString& help, const std::vector<Option>& options, QWidget* parent = nullptr);

  QString value() const;
  // These do not emit `changed`. A key that is not an option is added as one.
  void set_value(const QString& key);
  void set_measured(const QString& key);
  void set_why_not(const QString& key, const QString& why);  // an empty text enables the option
  bool differs() const override;

  QComboBox* combo() { return combo_; }

 public slots:
  void reset() override;

 signals:
  void changed(const QString& key);

 private:
  QString measured_text() const;

  QString measured_;
  QComboBox* combo_;
};

}  // namespace ddpprof::gui
