// The page used as a user does: N, measured or simulated, files with one strategy or none, and pictures.
#include "gui/pages/strategies/strategies_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QRadioButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>

#include "gui/models/strategies/strategy_tables.hpp"
#include "gui/pages/strategies/side_bars.hpp"
#include "gui/widgets/lane_view.hpp"
#include "gui/widgets/table_view.hpp"
#include "tests/gui/accelerators.hpp"
#include "tests/gui/strategies/measured_file.hpp"

namespace ddpprof::gui {
namespace {

constexpr int patience_ms = 60'000;

class StrategiesPageTest : public testing::Test {
 protected:
  StrategiesPageTest() : page_(selection_) {
    page_.resize(1280, 800);
    page_.show();
  }
  void open(const std::filesystem::path& path) {
    page_.show_file(open_file(path));
    wait();
  }
  // Waits until the question's answer is shown.
  void wait() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !page_.working(); }, patience_ms));
  }
  LaneView& lanes(const char* name) { return *page_.findChild<LaneView*>(name); }
  template <class Widget>
  Widget& named(const QString& accessible_name) {
    for (Widget* widget : page_.findChildren<Widget*>())
      if (widget->accessibleName() == accessible_name) return *widget;
    throw std::logic_error("no widget is called " + accessible_name.toStdString());
  }
  QRadioButton& radio(const QString& text) {
    for (QRadioButton* button : page_.findChildren<QRadioButton*>())
      if (button->text().remove('&') == text) return *button;
    throw std::logic_error("no radio button " + text.toStdString());
  }

  Selection selection_;
  StrategiesPage page_;
};

TEST_F(StrategiesPageTest, StartsWithTheLargestNThatBothWereMeasuredAt) {
  const test::MeasuredFile file("page", {1, 2, 4}, {1, 2});
  open(file.path());
  ASSERT_TRUE(page_.shown());
  EXPECT_EQ(page_.shown()->workers, 2);
  EXPECT_TRUE(page_.shown()->dp.measured);
  EXPECT_TRUE(page_.shown()->ddp.measured);
  EXPECT_THAT(lanes("ddp_lanes").title().toStdString(), testing::HasSubstr("measured: rank 0, step "));
  EXPECT_THAT(lanes("dp_lanes").title().toStdString(), testing::HasSubstr("DataParallel, N = 2"));
  // Both have one time axis.
  EXPECT_EQ(lanes("dp_lanes").whole(), lanes("ddp_lanes").whole());
  EXPECT_EQ(named<QLabel>("Recommendation").text().toStdString(), recommendation(*page_.shown()));
  const QComboBox& box = named<QComboBox>("N that were measured");
  EXPECT_EQ(box.currentData().toInt(), 2);
  EXPECT_EQ(box.itemText(2), "4 (only DDP)");
}

TEST_F(StrategiesPageTest, AnyNIsSimulatedAndMarkedAsSuch) {
  const test::MeasuredFile file("page-any", {1, 2, 4}, {1, 2, 4});
  open(file.path());
  named<QSpinBox>("Number of workers N").setValue(4096);
  wait();
  ASSERT_EQ(page_.shown()->workers, 4096);
  EXPECT_FALSE(page_.shown()->ddp.measured);
  EXPECT_THAT(lanes("ddp_lanes").title().toStdString(), testing::HasSubstr("simulated"));
  EXPECT_EQ(named<QComboBox>("N that were measured").currentData().toInt(), 0);
  EXPECT_FALSE(radio("Measured").isEnabled());
  // A measured N from the list again.
  named<QComboBox>("N that were measured").setCurrentIndex(1);
  wait();
  EXPECT_EQ(page_.shown()->workers, 2);
  EXPECT_TRUE(page_.shown()->ddp.measured);
}

TEST_F(StrategiesPageTest, AMeasuredNIsSimulatedWhenAskedFor) {
  const test::MeasuredFile file("page-switch", {1, 2, 4}, {1, 2, 4});
  open(file.path());
  named<QSpinBox>("Rank of DDP").setValue(3);
  wait();
  EXPECT_EQ(page_.shown()->ddp.lanes->rank, 3);
  radio("Simulated").setChecked(true);
  wait();
  EXPECT_FALSE(page_.shown()->ddp.measured);
  EXPECT_TRUE(lanes("ddp_lanes").lanes()->simulated);
  EXPECT_FALSE(named<QSpinBox>("Rank of DDP").isEnabled());
  EXPECT_EQ(page_.shown()->ddp.row->step_s, page_.shown()->ddp.lanes->step_s);
}

TEST_F(StrategiesPageTest, TheButtonsShowWhatIsDrawnAndTheUsersChoiceIsRestored) {
  const test::MeasuredFile file("page-radio", {1, 2, 4}, {1, 2});
  open(file.path());
  QSpinBox& n = named<QSpinBox>("Number of workers N");
  struct Case {
    const char* chosen;  // clicked by the user before N changes, or ""
    int workers;
    const char* checked;
    bool enabled;
  };
  for (const Case& c :
       {Case{"", 2, "Measured", true}, Case{"", 64, "Simulated", false}, Case{"", 7, "Simulated", false},
        Case{"", 4, "Measured", true}, Case{"Simulated", 2, "Simulated", true}, Case{"", 64, "Simulated", false},
        Case{"", 1, "Simulated", true}, Case{"Measured", 4, "Measured", true}}) {
    if (*c.chosen != 0) radio(c.chosen).click();
    n.setValue(c.workers);
    wait();
    EXPECT_TRUE(radio(c.checked).isChecked()) << c.workers;
    EXPECT_EQ(radio("Measured").isEnabled(), c.enabled) << c.workers;
    EXPECT_EQ(page_.shown()->ddp.measured, radio("Measured").isChecked()) << c.workers;
    EXPECT_EQ(lanes("ddp_lanes").lanes()->simulated, radio("Simulated").isChecked()) << c.workers;
    const std::string why = "Nothing was measured at N = " + std::to_string(c.workers);
    EXPECT_EQ(radio("Measured").toolTip().startsWith(QString::fromStdString(why)), !c.enabled) << c.workers;
  }
}

TEST_F(StrategiesPageTest, OnlyTheNewestNIsShown) {
  const test::MeasuredFile file("page-newest", {1, 2, 4}, {1, 2, 4});
  open(file.path());
  QSignalSpy shown(&page_, &StrategiesPage::shown_changed);
  QSpinBox& n = named<QSpinBox>("Number of workers N");
  for (int value = 8; value <= 40; ++value) n.setValue(value);
  wait();
  EXPECT_EQ(page_.shown()->workers, 40);
  EXPECT_EQ(shown.size(), 1);
}

TEST_F(StrategiesPageTest, BothLanesZoomTogether) {
  const test::MeasuredFile file("page-zoom", {1, 2}, {1, 2});
  open(file.path());
  QTest::keyClick(&lanes("dp_lanes"), Qt::Key_Plus);
  EXPECT_LT(lanes("dp_lanes").window().length_s(), lanes("dp_lanes").whole().length_s());
  EXPECT_EQ(lanes("ddp_lanes").window(), lanes("dp_lanes").window());
  QTest::keyClick(&lanes("ddp_lanes"), Qt::Key_0);
  EXPECT_EQ(lanes("dp_lanes").window(), lanes("dp_lanes").whole());
  QTest::keyClick(&lanes("ddp_lanes"), Qt::Key_Right);
  EXPECT_THAT(named<QLabel>("Segment with the keyboard focus").text().toStdString(),
              testing::HasSubstr("% of the step"));
}

TEST_F(StrategiesPageTest, BarsEqualTheTables) {
  const test::MeasuredFile file("page-bars", {1, 2}, {1, 2}, true);
  open(file.path());
  const auto& bars = named<SideBars>("Parts of the step time, as bars");
  ASSERT_TRUE(bars.xAxis->label().endsWith("[ms]"));
  EXPECT_NEAR(bars.shown(0, 0), 1e3 * page_.shown()->dp.parts.compute_s, 1e-9);
  EXPECT_NEAR(bars.shown(1, 0), 1e3 * page_.shown()->dp.parts.exposed_s, 1e-9);
  EXPECT_NEAR(bars.shown(2, 1), 1e3 * page_.shown()->ddp.parts.exposed_s, 1e-9);
  const auto& memory = named<SideBars>("Memory of device 0 and of the other devices, as bars");
  ASSERT_TRUE(memory.xAxis->label().endsWith("[MiB]"));
  EXPECT_NEAR(memory.shown(0, 0), 40e6 / 1048576.0, 1e-9);
  EXPECT_NEAR(memory.shown(1, 0), 20e6 / 1048576.0, 1e-9);
  EXPECT_NEAR(memory.shown(1, 1), 30e6 / 1048576.0, 1e-9);  // every DDP rank has the same memory
}

TEST_F(StrategiesPageTest, EachLetterLeadsToOneControl) {
  const test::MeasuredFile file("page-letters", {1, 2}, {1, 2});
  open(file.path());
  EXPECT_TRUE(clashing_letters(page_).isEmpty()) << clashing_letters(page_).join("; ").toStdString();
}

TEST_F(StrategiesPageTest, WithoutDataShowsWhatToDo) {
  const auto text = [&] {
    QString all;
    for (const QLabel* label : page_.findChildren<QLabel*>())
      if (label->isVisible()) all += label->text() + "\n";
    return all.toStdString();
  };
  EXPECT_THAT(text(), testing::HasSubstr("Open a trace database"));
  const test::MeasuredFile empty("page-empty", {}, {});
  page_.show_file(open_file(empty.path()));
  EXPECT_THAT(text(), testing::HasSubstr("has no training"));
  const test::MeasuredFile alone("page-alone", {1, 2}, {});
  open(alone.path());
  EXPECT_THAT(lanes("dp_lanes").message().toStdString(), testing::HasSubstr("was not measured with DataParallel"));
  EXPECT_TRUE(lanes("ddp_lanes").lanes());
  page_.show_file(nullptr);
  EXPECT_THAT(text(), testing::HasSubstr("Open a trace database"));
  EXPECT_FALSE(page_.shown());
}

TEST_F(StrategiesPageTest, AMissingFileShowsAMessage) {
  std::shared_ptr<const OpenedFile> opened;
  {
    const test::MeasuredFile file("page-gone", {1, 2}, {1, 2});
    opened = open_file(file.path());
  }
  page_.show_file(opened);
  wait();
  EXPECT_FALSE(page_.shown());
  QString all;
  for (const QLabel* label : page_.findChildren<QLabel*>())
    if (label->isVisible()) all += label->text();
  EXPECT_THAT(all.toStdString(), testing::HasSubstr(opened->path.filename().string()));
}

TEST_F(StrategiesPageTest, LanesStandBesideOrAboveEachOther) {
  const test::MeasuredFile file("page-place", {1, 2}, {1, 2});
  open(file.path());
  EXPECT_EQ(lanes("dp_lanes").y(), lanes("ddp_lanes").y());
  for (QCheckBox* box : page_.findChildren<QCheckBox*>()) box->setChecked(false);
  ASSERT_TRUE(QTest::qWaitFor([&] { return lanes("dp_lanes").x() == lanes("ddp_lanes").x(); }, patience_ms));
  EXPECT_LT(lanes("dp_lanes").y(), lanes("ddp_lanes").y());
  // A time is at the same place in both views.
  EXPECT_EQ(lanes("dp_lanes").current_layout().plot.left(), lanes("ddp_lanes").current_layout().plot.left());
  EXPECT_EQ(lanes("dp_lanes").current_layout().plot.right(), lanes("ddp_lanes").current_layout().plot.right());
}

}  // namespace
}  // namespace ddpprof::gui
