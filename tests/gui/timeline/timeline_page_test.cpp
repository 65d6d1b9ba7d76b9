// The page over real files: measurement, search, range, steps, and messages for missing data.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>
#include <QThreadPool>

#include "analysis/predict/lanes.hpp"
#include "gui/pages/timeline/step_panel.hpp"
#include "gui/timeline/range_statistics.hpp"
#include "gui/widgets/lane_view.hpp"
#include "gui/widgets/table_view.hpp"
#include "tests/gui/accelerators.hpp"
#include "tests/gui/timeline/timeline_page_fixture.hpp"

namespace ddpprof::gui {
namespace {

TEST_F(TimelinePageTest, TheLargestDdpMeasurementIsShownFirst) {
  Selection nothing;
  TimelinePage page(nothing);
  page.show();
  page.show_file(open_file(file_.path));
  ASSERT_TRUE(QTest::qWaitFor([&] { return page.source().timeline() != nullptr; }, patience_ms));
  EXPECT_EQ(page.source().timeline()->title, "ddp N=2");
  EXPECT_EQ(page.message(), "");
}

TEST_F(TimelinePageTest, MeasurementsOfOneTitleAreToldApart) {
  const auto* box = page_.findChild<QComboBox*>();
  ASSERT_NE(box, nullptr);
  QStringList titles;
  for (int i = 0; i < box->count(); ++i) titles << box->itemText(i);
  EXPECT_TRUE(titles.contains("ddp N=2, batch 16")) << titles.join('|').toStdString();
  EXPECT_TRUE(titles.contains("ddp N=2, batch 32")) << titles.join('|').toStdString();
  EXPECT_TRUE(titles.contains("ddp N=1")) << titles.join('|').toStdString();
}

TEST_F(TimelinePageTest, TheSelectionsMeasurementIsShown) {
  selection_.set_measurement(3);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.source().timeline() && all().measurement == 3 && all().complete; },
                              patience_ms));
  EXPECT_EQ(all().title, "dp N=2");
  auto* box = page_.findChild<QComboBox*>();
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(box->currentData().toLongLong(), 3);
}

TEST_F(TimelinePageTest, ARangeInTheTimelineIsEveryPagesRange) {
  QSignalSpy shown(&page_.range_statistics(), &RangeStatistics::shown);
  QTest::keyClick(&page_.view(), Qt::Key_Right);  // step 0 of rank 0
  QTest::keyClick(&page_.view(), Qt::Key_R);
  ASSERT_TRUE(selection_.range());
  EXPECT_EQ(*selection_.range(), (TimeRange{2, 1000 * ms, 1120 * ms}));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !shown.isEmpty(); }, patience_ms));
  const ReportTableModel& ranks = page_.range_statistics().ranks().model_of_table();
  ASSERT_EQ(ranks.rowCount(), 2);
  EXPECT_DOUBLE_EQ(std::get<double>(ranks.table().rows[0][3]), 0.09) << "rank 0's compute of the whole step";
  EXPECT_TRUE(page_.range_statistics().heading().contains("120 ms"))
      << page_.range_statistics().heading().toStdString();
  selection_.set_range(std::nullopt);
  EXPECT_FALSE(page_.view().range());
  EXPECT_TRUE(page_.range_statistics().heading().startsWith("No range"));
}

TEST_F(TimelinePageTest, ARangeFromAnotherPageIsShownHere) {
  QSignalSpy shown(&page_.range_statistics(), &RangeStatistics::shown);
  selection_.set_range(TimeRange{2, 1060 * ms, 1100 * ms});
  EXPECT_EQ(page_.view().range(), (std::pair<std::int64_t, std::int64_t>{1060 * ms, 1100 * ms}));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !shown.isEmpty(); }, patience_ms));
  selection_.set_range(TimeRange{3, 3000 * ms, 3100 * ms});
  ASSERT_TRUE(complete());
  EXPECT_EQ(all().measurement, 3) << "the range's measurement is read";
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.view().range().has_value(); }, patience_ms));
}

TEST_F(TimelinePageTest, PreviousBeforeTheAnswerGoesToTheLastHitOfTheNewText) {
  find("backward");
  page_.finder().box().setText("outer");
  page_.finder().previous();
  EXPECT_FALSE(page_.view().focus()) << "not to a hit of the old text";
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.view().focus().has_value(); }, patience_ms));
  EXPECT_EQ(page_.finder().state(), "3 of 3");
}

TEST_F(TimelinePageTest, AHitAmongHiddenRawEventsShowsThem) {
  QCheckBox* raw = nullptr;
  for (QCheckBox* box : page_.findChildren<QCheckBox*>())
    if (box->text().remove('&') == "Raw events") raw = box;
  ASSERT_NE(raw, nullptr);
  raw->click();
  EXPECT_FALSE(page_.view().raw());
  find("saxpy");
  page_.finder().next();
  ASSERT_TRUE(page_.view().focus());
  EXPECT_TRUE(raw->isChecked());
  EXPECT_FALSE(page_.view().rect_of(*page_.view().focus()).isEmpty());
}

TEST_F(TimelinePageTest, EachAcceleratorLeadsToOnePlace) {
  EXPECT_EQ(clashing_letters(page_).join("; ").toStdString(), "");
  selection_.set_measurement(3);
  page_.source().cancel();  // the same as the page's button
  EXPECT_EQ(clashing_letters(page_).join("; ").toStdString(), "");
}

TEST_F(TimelinePageTest, TheEventUnderFocusIsDescribed) {
  find("bucket 0 never ended");
  page_.finder().next();
  const report::Table& table = page_.details().model_of_table().table();
  const auto value = [&](const std::string& name) {
    for (const report::Row& row : table.rows)
      if (std::get<std::string>(row[0]) == name) return std::get<std::string>(row[1]);
    return std::string("none");
  };
  EXPECT_EQ(value("what"), "unfinished");
  EXPECT_EQ(value("size"), "1 MiB");
  EXPECT_EQ(value("ranks that never ended it"), "1");
  find("saxpy");
  page_.finder().next();
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return !page_.details().model_of_table().table().rows.empty() && value("blocks") == "8"; }, patience_ms))
      << "details from the file come later";
}

TEST_F(TimelinePageTest, TheStepBoxZoomsToTheStep) {
  auto* box = page_.findChild<QSpinBox*>();
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(box->maximum(), 4);
  box->setValue(2);
  QTest::keyClick(box->findChild<QLineEdit*>(), Qt::Key_Return);
  // Rank 0's step 2 is [1240, 1370) ms, rank 1's [1235, 1365) and 5 µs.
  const double left = page_.view().axis().ns_of(0.0), right = page_.view().axis().ns_of(page_.view().area_width());
  EXPECT_LT(left, 235.0 * ms);
  EXPECT_GT(left, 225.0 * ms);
  EXPECT_GT(right, 370.0 * ms);
  EXPECT_LT(right, 380.0 * ms);
}

TEST_F(TimelinePageTest, AMeasuredStepIsShownOverItsSimulation) {
  QSignalSpy shown(&page_.step_panel(), &StepPanel::shown);
  page_.step_panel().show_step(2, 1, 2);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !shown.isEmpty(); }, patience_ms));
  const LaneView& measured = page_.step_panel().measured();
  ASSERT_TRUE(measured.lanes()) << measured.message().toStdString();
  EXPECT_EQ(measured.lanes()->rank, 1);
  EXPECT_EQ(measured.lanes()->step, 2);
  EXPECT_DOUBLE_EQ(measured.lanes()->step_s, 0.13);
  const LaneView& simulated = page_.step_panel().simulated();
  const auto file = open_file(file_.path);
  ASSERT_TRUE(file->models) << file->why_no_models;
  const step::StepLanes twin = fit::simulated_lanes(file->models, "ddp", 2, file->predict);
  ASSERT_TRUE(simulated.lanes()) << simulated.message().toStdString();
  EXPECT_DOUBLE_EQ(simulated.lanes()->step_s, twin.step_s);
  EXPECT_EQ(simulated.lanes()->lanes.size(), twin.lanes.size());
}

TEST_F(TimelinePageTest, TheStepThatWasAskedForLastIsShownOverItsSimulation) {
  auto* panels = page_.findChild<QTabWidget*>();
  ASSERT_NE(panels, nullptr);
  QSignalSpy shown(&page_.step_panel(), &StepPanel::shown);
  const auto next_shown = [&]() -> std::int64_t {
    if (!QTest::qWaitFor([&] { return !shown.isEmpty(); }, patience_ms)) return -1;
    shown.clear();
    const auto& lanes = page_.step_panel().measured().lanes();
    return lanes ? lanes->step : -1;
  };
  panels->setCurrentWidget(&page_.step_panel());
  EXPECT_GT(next_shown(), 0) << "a typical step; the first one is not typical";
  auto* box = page_.findChild<QSpinBox*>();
  QTest::keyClick(box->findChild<QLineEdit*>(), Qt::Key_Return);
  EXPECT_EQ(next_shown(), 0) << "the first step was selected";
  page_.view().set_focus(timeline::EventRef{0, 3});
  EXPECT_EQ(next_shown(), 3) << "the focused event's";
  box->setValue(1);
  QTest::keyClick(box->findChild<QLineEdit*>(), Qt::Key_Return);
  EXPECT_EQ(next_shown(), 1);
}

TEST_F(TimelinePageTest, AFileWithoutRawEventsShowsItsStepsAndSaysHowToHaveMore) {
  selection_.set_measurement(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_.source().timeline() && all().measurement == 1; }, patience_ms));
  EXPECT_EQ(page_.message(), "");
  bool said = false;
  for (const QLabel* label : page_.findChildren<QLabel*>())
    said = said || (label->isVisible() && label->text().contains("output.raw=all"));
  EXPECT_TRUE(said);
}

TEST_F(TimelinePageTest, WithoutAFileThePageSaysWhatToDo) {
  page_.show_file(nullptr);
  EXPECT_TRUE(page_.message().startsWith("No file is open.")) << page_.message().toStdString();
  EXPECT_FALSE(page_.view().timeline());
}

TEST_F(TimelinePageTest, ReadingCanBeStoppedAndTakenUpAgain) {
  selection_.set_measurement(3);
  page_.source().cancel();
  EXPECT_TRUE(page_.source().was_cancelled());
  EXPECT_TRUE(page_.message().startsWith("Reading was stopped")) << page_.message().toStdString();
  // All pending results have arrived.
  ASSERT_TRUE(QThreadPool::globalInstance()->waitForDone(patience_ms));
  QCoreApplication::processEvents();
  EXPECT_FALSE(page_.source().timeline()) << "a late answer arrived";
  page_.source().retry();
  ASSERT_TRUE(complete());
  EXPECT_EQ(page_.message(), "");
}

TEST_F(TimelinePageTest, AFileThatVanishesIsReported) {
  std::filesystem::remove(file_.path);
  selection_.set_measurement(3);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.source().error().isEmpty(); }, patience_ms));
  EXPECT_TRUE(page_.message().contains("no such file")) << page_.message().toStdString();
}

TEST_F(TimelinePageTest, KeysAreListedForHelp) {
  EXPECT_GE(page_.keys().size(), 10U);
  for (const auto& [key, what] : page_.keys()) {
    EXPECT_FALSE(key.isEmpty());
    EXPECT_FALSE(what.isEmpty());
  }
}

}  // namespace
}  // namespace ddpprof::gui
