// The page Learning rate: the rate of each rule at the chosen N, the schedule, the range of the rule, and the training
// time.
#pragma once

#include <memory>

#include "gui/models/jobs.hpp"
#include "gui/models/learning_rate/schedules.hpp"
#include "gui/pages/page.hpp"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QScrollArea;
class QSlider;
class QSpinBox;

namespace ddpprof::gui {

class MessageStack;
class RecordedForm;
class SchedulePlot;
class ShellLine;
class TableOrMessage;
class TableTabs;

class LearningRatePage : public Page {
  Q_OBJECT

 public:
  explicit LearningRatePage(Selection&, QWidget* parent = nullptr);

  QString title() const override { return tr("&Learning rate"); }
  void show_file(std::shared_ptr<const OpenedFile> file) override;
  bool applies_to(const OpenedFile& file) const override { return !file.measurements.empty(); }

  const RateInputs& inputs() const { return inputs_; }
  bool predicting() const { return predicting_.running(); }

 private:
  QWidget* make_content();
  QWidget* make_controls(QWidget* parent);
  RateInputs stored() const;  // the values of the scenario or of the recording
  void restore();             // resets the inputs to stored()
  void limit_batch();         // keeps the global batch below the integer limit
  void show_inputs();         // writes the inputs into the controls without emitting signals
  void show_base_batch();     // the same for the base batch
  void connect_edits();
  void show_edit();  // shows the results for inputs_
  void read_list();
  bool has_rates() const;  // false: show_file() has shown why
  void show_answer();
  void show_rows(bool recorded);
  void show_given();     // after an edit of the form for recordings
  void show_recorded();  // show_answer() of a file without a scenario
  void show_plot(bool visible);
  void show_tables(RateTables tables);
  void predict_times();
  void show_target(std::optional<double> lowest);
  void show_no_times(const QString& why);

  std::shared_ptr<const OpenedFile> file_;
  RateInputs inputs_;
  Job predicting_;
  QSlider* workers_slider_ = nullptr;
  QSpinBox *workers_ = nullptr, *base_workers_ = nullptr, *base_batch_ = nullptr, *batch_ = nullptr,
           *accumulation_ = nullptr, *epochs_ = nullptr;
  QDoubleSpinBox *base_lr_ = nullptr, *warmup_epochs_ = nullptr, *target_loss_ = nullptr;
  QCheckBox* adaptive_ = nullptr;
  QLineEdit* list_ = nullptr;
  ShellLine* command_ = nullptr;
  QComboBox* axis_ = nullptr;
  QFormLayout* form_ = nullptr;
  RecordedForm* recorded_ = nullptr;
  QPushButton* reset_ = nullptr;
  QScrollArea* controls_ = nullptr;
  TableTabs* tables_ = nullptr;
  QLabel *list_problem_ = nullptr, *answer_ = nullptr, *limits_ = nullptr, *target_ = nullptr;
  SchedulePlot* plot_ = nullptr;
  TableOrMessage *rates_table_ = nullptr, *rules_table_ = nullptr, *warmup_table_ = nullptr, *times_table_ = nullptr,
                 *target_table_ = nullptr, *schedules_table_ = nullptr, *batches_table_ = nullptr, *choice_table_ = nullptr,
                 *cost_table_ = nullptr, *noise_table_ = nullptr, *trained_table_ = nullptr;
  MessageStack* stack_ = nullptr;
};

}  // namespace ddpprof::gui
