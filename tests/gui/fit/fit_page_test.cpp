#include "gui/pages/fit/fit_page.hpp"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QTabWidget>
#include <QTest>
#include <algorithm>

#include "analysis/report/tables/models/fit_tables.hpp"
#include "gui/pages/fit/fit_plot.hpp"
#include "gui/plots/legend.hpp"
#include "gui/widgets/message_stack.hpp"
#include "tests/analysis/fit/synthetic.hpp"
#include "tests/gui/accelerators.hpp"

namespace ddpprof::gui {
namespace {

using fit::synthetic::TemporaryDatabase;
using fit::synthetic::Truth;

class FitPageTest : public testing::Test {
 protected:
  void open(TemporaryDatabase& database) {
    database.get().finish_load();
    page_.resize(1200, 800);
    page_.show();
    page_.show_file(open_file(database.get().path()));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.reading(); }, 20000));
  }
  QString label(const char* name) { return page_.findChild<QLabel*>(name)->text(); }
  const ReportTableModel& table(const QString& tab) {
    auto* tabs = page_.findChild<QTabWidget*>();
    for (int i = 0; i < tabs->count(); ++i)
      if (tabs->tabText(i) == tab) return dynamic_cast<TableOrMessage&>(*tabs->widget(i)).view().model_of_table();
    throw std::out_of_range(tab.toStdString());
  }
  QComboBox& models() { return *page_.findChildren<QComboBox*>()[0]; }
  QComboBox& workers() { return *page_.findChildren<QComboBox*>()[1]; }

  Selection selection_;
  FitPage page_{selection_};
};

TEST_F(FitPageTest, ShowsWhatToDoWithoutAFileOrAFit) {
  page_.show();
  EXPECT_TRUE(label("message").contains("Ctrl+O"));
  TemporaryDatabase empty("fit-page-empty");
  open(empty);
  EXPECT_TRUE(label("message").contains("has no measured training step")) << label("message").toStdString();
  EXPECT_TRUE(label("message").contains("ddpprof run")) << "what to do";
}

TEST_F(FitPageTest, SaysThatMeasuredPointsAreMedians) {
  TemporaryDatabase database("fit-page-medians");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2}, 1);
  open(database);
  const auto plots = page_.findChildren<FitPlot*>();
  const auto times = std::find_if(plots.begin(), plots.end(), [](const FitPlot* one) {
    return one->accessibleName() == "Measured points and the model";
  });
  ASSERT_NE(times, plots.end());
  ASSERT_GE(models().count(), 2);
  for (int i = 0; i < models().count(); ++i) {
    models().setCurrentIndex(i);
    EXPECT_TRUE((*times)->yAxis->label().startsWith("median time [")) << (*times)->yAxis->label().toStdString();
  }
}

TEST_F(FitPageTest, ShowsTheTablesOfTheReportsToTheDigit) {
  TemporaryDatabase database("fit-page-tables");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  fit::synthetic::add_bench(database.get(), Truth{}, {2, 4});
  fit::write_fits(database.get(), fit::fit_database(database.get()));
  open(database);
  const report::Report report = read_report(database.get().path(), "fit");
  EXPECT_EQ(table("All fits").table().rows, report.tables[0].rows);
  EXPECT_EQ(table("All-reduce by size (bench-comm)").table().rows,
            read_report(database.get().path(), "comm").tables[0].rows);
  for (const report::Row& row : table("Parameters").table().rows) EXPECT_EQ(row[0], report::Cell("all_reduce"));
  std::size_t residuals = 0;
  for (const report::Row& row : report.tables[2].rows) residuals += row[0] == report::Cell("all_reduce") ? 1 : 0;
  EXPECT_GT(residuals, 0U);
  EXPECT_EQ(static_cast<std::size_t>(table("Residuals").rowCount()), residuals);
  EXPECT_TRUE(label("stored").isEmpty()) << "the stored fit equals a new fit";
  EXPECT_TRUE(label("status").startsWith("✔ Usable")) << label("status").toStdString();
}

// The warning is on the page, not only in the bar of warnings.
TEST_F(FitPageTest, AUsableFitWithWarningsIsNotPlainlyUsable) {
  TemporaryDatabase database("fit-page-warnings");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  fit::synthetic::add_bench(database.get(), Truth{}, {2, 4});
  open(database);
  const QColor without = page_.findChild<QLabel*>("status")->palette().color(QPalette::WindowText);
  auto file = std::make_shared<OpenedFile>(*open_file(database.get().path()));
  auto doubtful = std::make_shared<fit::Models>(*file->models);
  ASSERT_TRUE(doubtful->all_reduce.usable);
  doubtful->all_reduce.warnings = {"the log may be from other machines"};
  file->models = doubtful;
  page_.show_file(file);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.reading(); }, 20000));
  EXPECT_TRUE(label("status").startsWith("⚠ Usable, with warnings")) << label("status").toStdString();
  EXPECT_FALSE(label("status").contains("✔")) << label("status").toStdString();
  EXPECT_NE(page_.findChild<QLabel*>("status")->palette().color(QPalette::WindowText), without);
  models().setCurrentIndex(1);
  EXPECT_TRUE(label("status").startsWith("✔ Usable")) << "the warning is of another model: "
                                                      << label("status").toStdString();
}

TEST_F(FitPageTest, WithoutStoredFitsShowsThoseOfTheModels) {
  TemporaryDatabase database("fit-page-unstored");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  open(database);
  EXPECT_EQ(table("All fits").rowCount(), 2);
  EXPECT_TRUE(label("stored").contains("no stored fits"));
}

TEST_F(FitPageTest, AFitOfAnotherVersionIsReported) {
  TemporaryDatabase database("fit-page-other");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  fit::FitSummary fits = fit::fit_database(database.get());
  fits.fits.front().median_relative_error += 0.01;
  fit::write_fits(database.get(), fits);
  open(database);
  EXPECT_TRUE(label("stored").contains("differ from those of this program version")) << label("stored").toStdString();
}

TEST_F(FitPageTest, EachModelHasItsOwnPointsAndTables) {
  TemporaryDatabase database("fit-page-models");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  fit::synthetic::add_dp(database.get(), Truth{}, {1, 2, 4}, 1);
  open(database);
  ASSERT_EQ(models().count(), 4);
  auto* tabs = page_.findChild<QTabWidget*>();
  EXPECT_TRUE(tabs->isTabVisible(0)) << "only all-reduces have several forms";
  models().setCurrentIndex(3);
  EXPECT_FALSE(tabs->isTabVisible(0)) << "other models have one form";
  EXPECT_TRUE(label("status").contains("copies-through-root")) << label("status").toStdString();
  for (const report::Row& row : table("Residuals").table().rows) EXPECT_EQ(row[0], report::Cell("data_parallel"));
  EXPECT_GT(table("Residuals").rowCount(), 0);
  models().setCurrentIndex(1);
  EXPECT_FALSE(workers().isEnabled()) << "compute is one curve over N";
}

TEST_F(FitPageTest, OneNAlone) {
  TemporaryDatabase database("fit-page-one-n");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  fit::synthetic::add_bench(database.get(), Truth{}, {2, 4});
  open(database);
  auto* plot = page_.findChildren<FitPlot*>()[0];
  EXPECT_EQ(legend_entries(*plot->legend).size(), 4U);
  workers().setCurrentText("4");
  EXPECT_EQ(legend_entries(*plot->legend).size(), 2U);
  ASSERT_EQ(workers().count(), 3);
}

TEST_F(FitPageTest, DataOfThePreviousFileIsCleared) {
  TemporaryDatabase database("fit-page-before"), next("fit-page-next");
  for (TemporaryDatabase* one : {&database, &next}) {
    fit::synthetic::add_ddp(one->get(), Truth{}, {1, 2, 4}, 1);
    fit::synthetic::add_bench(one->get(), Truth{}, {2, 4});
  }
  open(database);
  const QStringList read = {"Parameters", "Residuals", "All-reduce by size (bench-comm)", "All fits"};
  for (const QString& tab : read) EXPECT_GT(table(tab).rowCount(), 0) << tab.toStdString();
  next.get().finish_load();
  const auto file = open_file(next.get().path());
  // Another program replaces the file before the page reads it.
  std::filesystem::rename(database.get().path(), next.get().path());
  page_.show_file(file);
  ASSERT_TRUE(page_.reading());
  for (const QString& tab : read) EXPECT_EQ(table(tab).rowCount(), 0) << tab.toStdString();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.reading(); }, 20000));
  for (const QString& tab : read) EXPECT_EQ(table(tab).rowCount(), 0) << tab.toStdString();
  EXPECT_TRUE(page_.findChild<QLabel*>("stored")->isVisible());
  EXPECT_TRUE(label("stored").contains("fit-page-next")) << label("stored").toStdString();
}

TEST_F(FitPageTest, EachLetterLeadsToOneControl) {
  TemporaryDatabase database("fit-page-letters");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  open(database);
  EXPECT_TRUE(clashing_letters(page_).isEmpty()) << clashing_letters(page_).join("; ").toStdString();
}

TEST_F(FitPageTest, TablesPassTheModelTester) {
  TemporaryDatabase database("fit-page-sound");
  fit::synthetic::add_ddp(database.get(), Truth{}, {1, 2, 4}, 1);
  const auto models = std::make_shared<const fit::Models>(fit::fit_models(database.get()));
  ReportTableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(report::forms_table(models->all_reduce));
  EXPECT_EQ(model.rowCount(), static_cast<int>(models->all_reduce.forms.size()));
  model.set_table(report::all_reduce_points_table(models->all_reduce));
  EXPECT_EQ(model.rowCount(), static_cast<int>(models->all_reduce.points.size()));
}

}  // namespace
}  // namespace ddpprof::gui
