// The page Fit: each fitted model with its points, curve, residuals and parameters, and why its form was selected.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gui/models/fit/fit_view.hpp"
#include "gui/models/jobs.hpp"
#include "gui/pages/page.hpp"

class QComboBox;
class QLabel;
class QTabWidget;

namespace ddpprof::gui {

class FitPlot;
class MessageStack;
class TableOrMessage;
class TableTabs;

class FitPage : public Page {
  Q_OBJECT

 public:
  explicit FitPage(Selection&, QWidget* parent = nullptr);

  QString title() const override { return tr("F&it"); }
  void show_file(std::shared_ptr<const OpenedFile> file) override;
  bool applies_to(const OpenedFile& file) const override { return file.models != nullptr; }

  bool reading() const { return reading_.running(); }

 protected:
  void changeEvent(QEvent*) override;

 private:
  QWidget* make_content();
  void show_model();   // the model selected in the combo box
  void show_series();  // the series of the selected N
  void show_tables();
  void colour_status();
  std::optional<FitKind> kind() const;

  struct Tables {
    report::Table fit, parameters, residuals, comm;
    bool stored = false;    // true: fits stored in the file; false: fits made now
    bool as_fitted = true;  // true if the stored fits equal new fits
  };

  std::shared_ptr<const OpenedFile> file_;
  FitView view_;
  std::shared_ptr<const Tables> read_;
  std::string why_no_tables_;  // set while read_ is null
  Job reading_;
  QComboBox *models_ = nullptr, *workers_ = nullptr;
  QLabel *status_ = nullptr, *meaning_ = nullptr, *stored_ = nullptr;
  FitPlot *times_ = nullptr, *residuals_ = nullptr;
  TableTabs* tables_ = nullptr;
  TableOrMessage *forms_table_ = nullptr, *parameters_table_ = nullptr, *residuals_table_ = nullptr,
                 *points_table_ = nullptr, *comm_table_ = nullptr, *fits_table_ = nullptr;
  MessageStack* stack_ = nullptr;
};

}  // namespace ddpprof::gui
