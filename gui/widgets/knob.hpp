// One control of a what-if: a slider and a box for a number, or a list of choices; each with its unit, a mark where it
// differs from what was measured, and a button that takes it back.
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

// What the two kinds have in common: the label, its mark and the way back.
class KnobBase : public QWidget {
  Q_OBJECT

 public:
  // `label` with the accelerator's &; `help` says what the knob does.
  KnobBase(const QString& label, const QString& help, QWidget* parent);

  QToolButton* reset_button() { return reset_; }
  QString label() const;                  // without the accelerator's &
  void set_why_disabled(const QString&);  // a reason disables it; empty enables it
  virtual bool differs() const = 0;

 public slots:
  virtual void reset() = 0;

 protected:
  void mark(const QString& measured);  // after every change: bold and dotted where it differs
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
  // `unit` stands behind the number, "×" or " MiB"; `zero` in its place at the lowest value, or empty.
  Knob(const QString& label, const QString& help, const ValueRange& range, const QString& unit, int decimals,
       QWidget* parent = nullptr, const QString& zero = {});

  double value() const { return value_; }
  // Neither says `changed`. The range is as wide as the measured value needs.
  void set_value(double);
  void set_measured(double);
  bool differs() const override;

  QSlider* slider() { return slider_; }
  QDoubleSpinBox* box() { return box_; }

 public slots:
  void reset() override;

 signals:
  void changed(double value);

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
    QString key, text, why_not;  // a reason leaves it out of reach
  };
  Choice(const QString& label, const QString& help, const std::vector<Option>& options, QWidget* parent = nullptr);

  QString value() const;
  // Neither says `changed`.
  void set_value(const QString& key);
  void set_measured(const QString& key);
  void set_why_not(const QString& key, const QString& why);  // empty: within reach
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
