#include "gui/pages/fit/fit_page.hpp"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <set>

#include "analysis/report/tables/models/fit_tables.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "gui/pages/fit/fit_plot.hpp"
#include "gui/widgets/message_stack.hpp"

namespace ddpprof::gui {
namespace {

// Returns the rows of one fit. The first two columns hold its name and its strategy.
report::Table of_fit(report::Table table, FitKind kind) {
  std::erase_if(table.rows, [&](const report::Row& row) {
    return row[0] != report::Cell(std::string(fit_name(kind))) ||
           row[1] != report::Cell(std::string(fit_strategy(kind)));
  });
  return table;
}

bool same(const report::Table& a, const report::Table& b) { return a.rows == b.rows; }

}  // namespace

FitPage::FitPage(Selection& selection, QWidget* parent) : Page(selection, parent), reading_(this) {
  stack_ = new MessageStack(make_content(), this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  show_file(nullptr);
}

QWidget* FitPage::make_content() {
  auto* content = new QWidget(this);
  models_ = new QComboBox(content);
  models_->setAccessibleName(tr("Model"));
  auto* model_label = new QLabel(tr("&Model"), content);
  model_label->setBuddy(models_);
  workers_ = new QComboBox(content);
  workers_->setAccessibleName(tr("Worker count shown"));
  auto* workers_label = new QLabel(tr("&N"), content);
  workers_label->setBuddy(workers_);
  auto* first = new QHBoxLayout;
  first->addWidget(model_label);
  first->addWidget(models_);
  first->addSpacing(12);
  first->addWidget(workers_label);
  first->addWidget(workers_);
  first->addStretch(1);

  const auto text = [&](const char* name) {
    auto* label = new QLabel(content);
    label->setObjectName(name);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    return label;
  };
  status_ = text("status");
  status_->setAccessibleName(tr("Fit status and its reason"));
  meaning_ = text("meaning");
  stored_ = text("stored");

  times_ = new FitPlot(FitPlot::Shows::times, content);
  residuals_ = new FitPlot(FitPlot::Shows::residuals, content);
  auto* plots = new QSplitter(Qt::Horizontal, content);
  plots->setObjectName("fit plots");
  plots->addWidget(times_);
  plots->addWidget(residuals_);
  plots->setStretchFactor(0, 3);
  plots->setStretchFactor(1, 2);
  plots->setSizes({760, 500});
  auto* upper = new QWidget(content);
  auto* upper_layout = new QVBoxLayout(upper);
  upper_layout->setContentsMargins(0, 0, 0, 0);
  upper_layout->addWidget(plots, 1);
  upper_layout->addWidget(meaning_);

  tables_ = new TableTabs(content);
  forms_table_ = tables_->add(tr("Why this form"));
  parameters_table_ = tables_->add(tr("Parameters"));
  residuals_table_ = tables_->add(tr("Residuals"));
  points_table_ = tables_->add(tr("All-reduces of the fit"));
  comm_table_ = tables_->add(tr("All-reduce by size (bench-comm)"));
  fits_table_ = tables_->add(tr("All fits"));

  auto* halves = over_tables(upper, tables_, content);
  halves->setObjectName("fit tables");
  auto* layout = new QVBoxLayout(content);
  layout->addLayout(first);
  layout->addWidget(status_);
  layout->addWidget(halves, 1);
  layout->addWidget(stored_);

  connect(models_, &QComboBox::currentIndexChanged, this, &FitPage::show_model);
  connect(workers_, &QComboBox::currentIndexChanged, this, &FitPage::show_series);
  for (FitPlot* plot : {times_, residuals_}) connect(plot, &Plot::status_message, this, &Page::status_message);
  return content;
}

void FitPage::show_file(std::shared_ptr<const OpenedFile> file) {
  file_ = std::move(file);
  reading_.cancel();
  read_.reset();
  why_no_tables_ = "Reading the file…";
  {
    const QSignalBlocker quiet(models_);
    models_->clear();
  }
  if (!file_) {
    stack_->show_message(
        tr("No file is open. Open a trace database (Ctrl+O), or measure one with: ddpprof run SCENARIO.yaml"));
    return;
  }
  if (!file_->models) {
    stack_->show_message(tr("Cannot fit a model: %1").arg(QString::fromStdString(file_->why_no_models)));
    return;
  }
  {
    const QSignalBlocker quiet(models_);
    for (const FitKind one : fits_of(*file_->models)) models_->addItem(tr(to_string(one)), static_cast<int>(one));
  }
  stack_->show_content();
  reading_.start(
      [shown = file_](const Cancelled&) {
        shown->check_unchanged();
        auto tables = std::make_shared<Tables>();
        const report::Report stored = read_report(shown->path, "fit");
        const std::vector<store::FitRow> rows = report::fit_rows(*shown->models);
        tables->fit = report::fit_table(rows);
        tables->stored = !stored.tables[0].rows.empty();
        if (tables->stored) {
          tables->as_fitted = same(tables->fit, stored.tables[0]);
          tables->fit = stored.tables[0];
          tables->parameters = stored.tables[1];
          tables->residuals = stored.tables[2];
        } else {
          tables->parameters = report::fit_parameters_table(rows);
          tables->residuals = report::fit_residuals_table(rows);
        }
        tables->comm = read_report(shown->path, "comm").tables[0];
        return std::shared_ptr<const Tables>(std::move(tables));
      },
      [this](const std::shared_ptr<const Tables>& tables) {
        read_ = tables;
        show_tables();
      },
      [this](const std::string& why) {
        why_no_tables_ = why;
        show_tables();
      });
  show_model();
}

std::optional<FitKind> FitPage::kind() const {
  if (!file_ || !file_->models || models_->currentIndex() < 0) return std::nullopt;
  return static_cast<FitKind>(models_->currentData().toInt());
}

void FitPage::show_model() {
  const auto which = kind();
  if (!which) return;
  view_ = view_fit(*file_->models, *which, file_->predict.gpus_per_node);
  status_->setText(
      (view_.usable ? tr(view_.warnings.empty() ? "✔ Usable" : "⚠ Usable, with warnings") : tr("✖ Not usable")) +
      (view_.form.empty() ? QString() : tr(": %1").arg(QString::fromStdString(view_.form))) + "\n" +
      QString::fromStdString(view_.status));
  colour_status();
  std::set<std::int64_t> counts;
  for (const FitSeries& series : view_.series) counts.insert(series.workers);
  {
    const QSignalBlocker quiet(workers_);
    workers_->clear();
    workers_->addItem(tr("all"), qlonglong{0});
    const bool by_size = *which == FitKind::all_reduce || *which == FitKind::copies;
    if (by_size)
      for (const std::int64_t one : counts) workers_->addItem(QString::number(one), static_cast<qlonglong>(one));
    workers_->setEnabled(by_size && counts.size() > 1);
  }
  meaning_->setText(QString::fromStdString(view_.curve_meaning));
  tables_->setTabVisible(tables_->indexOf(forms_table_), *which == FitKind::all_reduce);
  tables_->setTabVisible(tables_->indexOf(points_table_), *which == FitKind::all_reduce);
  show_series();
  show_tables();
}

void FitPage::show_series() {
  FitView some = view_;
  const std::int64_t only = workers_->currentData().toLongLong();
  if (only > 0) std::erase_if(some.series, [&](const FitSeries& series) { return series.workers != only; });
  times_->show_fit(some);
  residuals_->show_fit(std::move(some));
}

void FitPage::show_tables() {
  const auto which = kind();
  if (!which) return;
  forms_table_->set_table(report::forms_table(file_->models->all_reduce));
  points_table_->set_table(report::all_reduce_points_table(file_->models->all_reduce));
  if (!read_) {
    // While the tables are read, clear the tables of the previous file.
    report::Table none;
    none.empty = why_no_tables_;
    for (TableOrMessage* table : {parameters_table_, residuals_table_, comm_table_, fits_table_})
      table->set_table(none);
    stored_->setText(reading_.running() ? QString() : QString::fromStdString(why_no_tables_));
    stored_->setVisible(!stored_->text().isEmpty());
    return;
  }
  parameters_table_->set_table(of_fit(read_->parameters, *which));
  residuals_table_->set_table(of_fit(read_->residuals, *which));
  comm_table_->set_table(read_->comm);
  fits_table_->set_table(read_->fit);
  if (!read_->stored) {
    stored_->setText(
        tr("The file has no stored fits. These were computed when it was opened, as ddpprof predict does."));
  } else if (!read_->as_fitted) {
    stored_->setText(
        tr("The file's stored fits differ from those of this program version. Parameters, residuals and “All fits” are "
           "the stored ones; plots and “Why this form” are new fits."));
  } else {
    stored_->clear();
  }
  stored_->setVisible(!stored_->text().isEmpty());
}

void FitPage::colour_status() {
  QPalette own = status_->palette();
  const QColor wanted = view_.usable && view_.warnings.empty()
                            ? palette().color(QPalette::WindowText)
                            : colour(view_.usable ? Colour::warning : Colour::error, palette());
  if (own.color(QPalette::WindowText) == wanted) return;
  own.setColor(QPalette::WindowText, wanted);
  status_->setPalette(own);
}

void FitPage::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && status_ != nullptr) colour_status();
  Page::changeEvent(event);
}

}  // namespace ddpprof::gui
