// The page Fit: every fitted model with its points, curve, residuals and parameters, and why its form won.
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
class TableOrWhy;
class TableTabs;

class FitPage : public Page {
  Q_OBJECT

 public:
  explicit FitPage(Selection&, QWidget* parent = nullptr);

  QString title() const override { return tr("F&it"); }
  void show_file(std::shared_ptr<const OpenedFile> file) override;

  bool reading() const { return reading_.running(); }

 protected:
  void changeEvent(QEvent*) override;

 private:
  QWidget* make_content();
  void show_model();   // the combo's
  void show_series();  // of the chosen N
  void show_tables();
  void colour_status();
  std::optional<FitKind> kind() const;

  struct Tables {
    report::Table fit, parameters, residuals, comm;
    bool stored = false;    // as the file has them, else of the models as they were fitted now
    bool as_fitted = true;  // what the file has is what a fit gives now
  };

  std::shared_ptr<const OpenedFile> file_;
  FitView view_;
  std::shared_ptr<const Tables> read_;
  std::string why_no_tables_;  // while read_ is none
  Job reading_;
  QComboBox *models_ = nullptr, *workers_ = nullptr;
  QLabel *status_ = nullptr, *meaning_ = nullptr, *stored_ = nullptr;
  FitPlot *times_ = nullptr, *residuals_ = nullptr;
  TableTabs* tables_ = nullptr;
  TableOrWhy *forms_table_ = nullptr, *parameters_table_ = nullptr, *residuals_table_ = nullptr,
             *points_table_ = nullptr, *comm_table_ = nullptr, *fits_table_ = nullptr;
  MessageStack* stack_ = nullptr;
};

}  // namespace ddpprof::gui
