// A knob: slider, box, mark and reset agree, with mouse and keyboard.
#include "gui/widgets/knob.hpp"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QToolButton>
#include <algorithm>

namespace ddpprof::gui {
namespace {

const ValueRange factor{0.05, 20.0, true, false}, count{1.0, 4096.0, true, true};

TEST(SliderStops, AreAscendingAndIncludeTheEnds) {
  for (const ValueRange& range : {factor, count, ValueRange{0.0, 64.0, false, true}, ValueRange{0.0, 1.0}}) {
    const std::vector<double> stops = slider_stops(range);
    EXPECT_EQ(stops.front(), range.low);
    EXPECT_EQ(stops.back(), range.high);
    EXPECT_LE(stops.size(), 202U);
    EXPECT_TRUE(std::is_sorted(stops.begin(), stops.end()));
    EXPECT_EQ(std::adjacent_find(stops.begin(), stops.end()), stops.end());
    if (range.whole) {
      EXPECT_TRUE(std::all_of(stops.begin(), stops.end(), [](double v) { return v == std::floor(v); }));
    }
  }
  const std::vector<double> times = slider_stops(factor);
  for (const double value : {0.5, 1.0, 2.0, 4.0, 1.68})
    EXPECT_NE(std::find(times.begin(), times.end(), value), times.end());
  // Every power of two is a stop of N.
  const std::vector<double> workers = slider_stops(count);
  for (double n = 1.0; n <= 4096.0; n *= 2.0) EXPECT_NE(std::find(workers.begin(), workers.end(), n), workers.end());
}

TEST(SliderStops, TheNearestFollowsTheScale) {
  const std::vector<double> stops = {1.0, 2.0, 4.0, 8.0};
  EXPECT_EQ(nearest_stop(stops, 0.1, true), 0U);
  EXPECT_EQ(nearest_stop(stops, 2.7, true), 1U);
  EXPECT_EQ(nearest_stop(stops, 2.9, true), 2U);  // 2.83 is the middle in the logarithm
  EXPECT_EQ(nearest_stop(stops, 2.9, false), 1U);
  EXPECT_EQ(nearest_stop(stops, 99.0, true), 3U);
}

TEST(Knob, SliderAndBoxMoveEachOther) {
  Knob knob("&Bandwidth", "help", factor, " ×", 3);
  knob.set_measured(1.0);
  knob.set_value(1.0);
  QSignalSpy changed(&knob, &Knob::changed);
  knob.slider()->setValue(knob.slider()->value() + 8);  // a factor of two
  EXPECT_EQ(knob.value(), 2.0);
  EXPECT_EQ(knob.box()->value(), 2.0);
  ASSERT_EQ(changed.count(), 1);
  EXPECT_EQ(changed.front().front().toDouble(), 2.0);
  knob.box()->setValue(0.5);
  EXPECT_EQ(changed.count(), 2);
  EXPECT_EQ(knob.value(), 0.5);
  const int at_half = knob.slider()->value();
  knob.set_value(0.5);  // set by the program: no signal
  EXPECT_EQ(changed.count(), 2);
  EXPECT_EQ(knob.slider()->value(), at_half);
}

TEST(Knob, MarksADifferenceAndResets) {
  Knob knob("Bucket &cap", "help", {0.25, 1024.0, true, false}, " MiB", 2);
  knob.set_measured(25.0);
  knob.set_value(25.0);
  EXPECT_FALSE(knob.differs());
  EXPECT_FALSE(knob.reset_button()->isEnabled());
  const auto* label = knob.findChild<QLabel*>();
  EXPECT_FALSE(label->text().contains("●"));
  knob.box()->setValue(50.0);
  EXPECT_TRUE(knob.differs());
  EXPECT_TRUE(label->text().contains("●"));
  EXPECT_TRUE(label->font().bold());
  EXPECT_TRUE(knob.reset_button()->toolTip().contains("25.00 MiB"));
  QSignalSpy changed(&knob, &Knob::changed);
  knob.reset_button()->click();
  EXPECT_EQ(knob.value(), 25.0);
  EXPECT_EQ(changed.count(), 1);
  EXPECT_FALSE(knob.reset_button()->isEnabled());
}

TEST(Knob, TheKeyboardChangesIt) {
  Knob knob("&Workers", "help", count, {}, 0);
  knob.set_measured(64.0);
  knob.set_value(64.0);
  knob.show();
  knob.slider()->setFocus();
  QTest::keyClick(knob.slider(), Qt::Key_Right);
  EXPECT_GT(knob.value(), 64.0);
  QTest::keyClick(knob.slider(), Qt::Key_Left);
  EXPECT_EQ(knob.value(), 64.0);
  QTest::keyClick(knob.slider(), Qt::Key_Home);
  EXPECT_EQ(knob.value(), 1.0);
  // At small N an arrow key still changes N by one.
  QTest::keyClick(knob.slider(), Qt::Key_Right);
  EXPECT_EQ(knob.value(), 2.0);
  EXPECT_EQ(knob.slider()->accessibleName(), "Workers");
  EXPECT_EQ(knob.reset_button()->accessibleName(), "Reset Workers");
}

TEST(Knob, AMeasuredValueBetweenTheStopsIsAStop) {
  Knob knob("&Batch", "help", {1.0, 65536.0, true, true}, {}, 0);
  knob.set_measured(100.0);
  knob.set_value(100.0);
  const int at = knob.slider()->value();
  QTest::keyClick(knob.slider(), Qt::Key_Right);
  EXPECT_NE(knob.value(), 100.0);
  knob.slider()->setValue(at);
  EXPECT_EQ(knob.value(), 100.0);
  EXPECT_FALSE(knob.differs());
}

TEST(Knob, AMeasuredValueBeyondTheRangeWidensIt) {
  for (const double measured : {512.0, 0.125}) {
    Knob knob("&Cap", "help", {0.25, 256.0, true, false}, {}, 3);
    QSignalSpy changed(&knob, &Knob::changed);
    knob.set_measured(measured);
    knob.set_value(measured);
    EXPECT_EQ(knob.value(), measured);
    EXPECT_EQ(knob.box()->value(), measured);
    EXPECT_FALSE(knob.differs());
    EXPECT_EQ(changed.count(), 0);
    // Changed and reset with the slider.
    const int at = knob.slider()->value();
    knob.slider()->setValue(knob.slider()->maximum() / 2);
    EXPECT_TRUE(knob.differs());
    knob.slider()->setValue(at);
    EXPECT_EQ(knob.value(), measured);
    EXPECT_FALSE(knob.differs());
    // Another file with another range.
    knob.set_measured(25.0);
    knob.set_value(1e9);
    EXPECT_EQ(knob.value(), 256.0);
    EXPECT_EQ(knob.box()->minimum(), 0.25);
  }
}

TEST(SliderStops, TheRangeIsWidenedOnlyWhereItCanBe) {
  EXPECT_EQ(widened(count, 5000.0).high, 5000.0);
  EXPECT_EQ(widened(count, 0.0).low, 1.0);  // a logarithmic range never contains 0
  EXPECT_EQ(widened({0.0, 64.0, false, true}, -1.0).low, -1.0);
  EXPECT_EQ(slider_stops(widened(count, 5000.0)).back(), 5000.0);
}

TEST(Choice, ResetsAndExplainsDisabledOptions) {
  Choice choice("&Strategy", "help", {{"ddp", "DDP", {}}, {"dp", "DataParallel", {}}});
  choice.set_measured("ddp");
  QSignalSpy changed(&choice, &Choice::changed);
  choice.combo()->setCurrentIndex(1);
  EXPECT_EQ(choice.value(), "dp");
  ASSERT_EQ(changed.count(), 1);
  EXPECT_EQ(changed.front().front().toString(), "dp");
  choice.reset_button()->click();
  EXPECT_EQ(choice.value(), "ddp");
  choice.set_value("dp");
  EXPECT_EQ(changed.count(), 2);
  EXPECT_TRUE(choice.differs());
  choice.set_why_not("dp", "not measured");
  EXPECT_FALSE(choice.combo()->model()->flags(choice.combo()->model()->index(1, 0)).testFlag(Qt::ItemIsEnabled));
}

TEST(Choice, AReasonDisablesIt) {
  Knob knob("&Cap", "what it does", factor, {}, 2);
  knob.set_why_disabled("no buckets");
  EXPECT_FALSE(knob.isEnabled());
  EXPECT_TRUE(knob.toolTip().contains("no buckets"));
  knob.set_why_disabled({});
  EXPECT_TRUE(knob.isEnabled());
}

}  // namespace
}  // namespace ddpprof::gui
