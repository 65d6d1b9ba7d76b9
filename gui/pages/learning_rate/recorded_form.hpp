// The rows of the page Learning rate in which the user states what a recording or an import does not contain.
#pragma once

#include <QObject>
#include <vector>

#include "gui/models/learning_rate/recorded_rates.hpp"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QWidget;

namespace ddpprof::gui {

class RecordedForm : public QObject {
  Q_OBJECT

 public:
  RecordedForm(QFormLayout& rows, QWidget* parent);  // adds its rows at the end of `rows`

  void set_visible(bool);
  void show_recorded(const scenario_queries::RateQuestion&);  // empties the fields
  void show_problem(const QString&);
  // The last valid text of each field.
  const scenario_queries::GivenRate& given() const { return given_; }

 signals:
  void edited();

 private:
  void read(std::size_t index);

  QFormLayout& rows_;
  std::vector<QLineEdit*> fields_;  // in the order of every_rate_field
  std::vector<QString> problems_;   // of each field; empty: its text is valid
  QComboBox* optimizer_;
  QLabel* problem_;
  scenario_queries::GivenRate given_;
};

}  // namespace ddpprof::gui
