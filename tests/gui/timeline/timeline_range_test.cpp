// Selecting a range of time: by dragging, in the ruler, with keys.
#include "tests/gui/timeline/timeline_view_fixture.hpp"

namespace ddpprof::gui {
namespace {

TEST_F(TimelineViewTest, DraggingWithShiftSelectsARange) {
  QSignalSpy chosen(&view_, &TimelineView::range_chosen);
  const double from = view_.axis().ns_of(100.0), to = view_.axis().ns_of(300.0);
  drag(in_area(300.0), in_area(100.0), Qt::ShiftModifier);
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(chosen[0][0].toLongLong(), all_->begin_ns + std::llround(from));
  EXPECT_EQ(chosen[0][1].toLongLong(), all_->begin_ns + std::llround(to));
  ASSERT_TRUE(view_.range());
  QSignalSpy cleared(&view_, &TimelineView::range_cleared);
  QTest::keyClick(&view_, Qt::Key_Escape);
  EXPECT_EQ(cleared.size(), 1);
  EXPECT_FALSE(view_.range());
}

TEST_F(TimelineViewTest, ShiftAndArrowsSelectARangeFromTheFocusedEvent) {
  QSignalSpy chosen(&view_, &TimelineView::range_chosen);
  QTest::keyClick(&view_, Qt::Key_Right);  // step 0 of rank 0: 1000 ms to 1120 ms
  QTest::keyClick(&view_, Qt::Key_Right);
  ASSERT_EQ(focused(), "step 1");
  const timeline::Event step = all_->rows[view_.focus()->row].at(view_.focus()->event);
  const Axis before = view_.axis();
  const double key_ns = 0.02 * view_.area_width() * before.ns_per_px;
  const auto press = [&](int key, Qt::KeyboardModifiers also = Qt::NoModifier) {
    QTest::keyClick(&view_, static_cast<Qt::Key>(key), Qt::ShiftModifier | also);
    ASSERT_TRUE(view_.range());
    ASSERT_EQ(chosen.back()[0].toLongLong(), view_.range()->first);
    ASSERT_EQ(chosen.back()[1].toLongLong(), view_.range()->second);
  };
  const auto expect = [&](double from_ns, double to_ns, const char* what) {
    EXPECT_NEAR(static_cast<double>(view_.range()->first) - from_ns, 0.0, 4.0) << what;
    EXPECT_NEAR(static_cast<double>(view_.range()->second) - to_ns, 0.0, 4.0) << what;
  };
  const auto start = static_cast<double>(step.start_ns), end = static_cast<double>(step.end_ns());
  const auto first = static_cast<double>(all_->begin_ns), last = static_cast<double>(all_->end_ns);
  struct Case {
    int key;
    Qt::KeyboardModifiers also;
    double from_ns, to_ns;
    const char* what;
  };
  for (const Case& c : {
           Case{Qt::Key_Right, Qt::NoModifier, start, start + key_ns, "a fiftieth of the view"},
           Case{Qt::Key_Right, Qt::NoModifier, start, start + 2.0 * key_ns, "and another"},
           Case{Qt::Key_Left, Qt::NoModifier, start, start + key_ns, "and back"},
           Case{Qt::Key_Left, Qt::NoModifier, start, start, "nothing is left of it"},
           Case{Qt::Key_Left, Qt::NoModifier, start - key_ns, start, "beyond the end that stays"},
           Case{Qt::Key_Right, Qt::ControlModifier, start, start, "to the next begin"},
           Case{Qt::Key_Right, Qt::ControlModifier, start, end, "to the next end"},
           Case{Qt::Key_End, Qt::NoModifier, start, last, "to the last event"},
           Case{Qt::Key_Home, Qt::NoModifier, first, start, "to the first event"},
       }) {
    press(c.key, c.also);
    expect(c.from_ns, c.to_ns, c.what);
  }
  EXPECT_EQ(focused(), "step 1") << "the focus stays";
  EXPECT_EQ(view_.axis(), before) << "all of it was in view";
  // For a range from another source the keys move the end.
  view_.set_range(std::pair<std::int64_t, std::int64_t>{1020 * ms, 1030 * ms});
  press(Qt::Key_Right);
  expect(1020.0 * ms, 1030.0 * ms + key_ns, "the end moves");
  QTest::keyClick(&view_, Qt::Key_Escape);
  EXPECT_FALSE(view_.range());
}

TEST_F(TimelineViewTest, ARangesMovingEndIsKeptInViewAndNeverLeavesTheEvents) {
  view_.show_range(1100 * ms, 1110 * ms);
  for (int i = 0; i < 60; ++i) QTest::keyClick(&view_, Qt::Key_Right, Qt::ShiftModifier);
  ASSERT_TRUE(view_.range());
  EXPECT_NEAR(static_cast<double>(view_.range()->first) / ms, 1105.0, 0.01) << "without a focus, from the middle";
  const double x = view_.axis().x_of(static_cast<double>(view_.range()->second - all_->begin_ns));
  EXPECT_GE(x, 0.0);
  EXPECT_LE(x, view_.area_width());
  for (int i = 0; i < 3; ++i) QTest::keyClick(&view_, Qt::Key_End, Qt::ShiftModifier);
  QTest::keyClick(&view_, Qt::Key_Right, Qt::ShiftModifier);
  EXPECT_EQ(view_.range()->second, all_->end_ns);
}

TEST_F(TimelineViewTest, TheSelectModeAndTheRulerSelectWithoutShift) {
  QSignalSpy chosen(&view_, &TimelineView::range_chosen);
  QTest::keyClick(&view_, Qt::Key_M);
  EXPECT_TRUE(view_.select_mode());
  drag(in_area(100.0), in_area(200.0));
  EXPECT_EQ(chosen.size(), 1);
  QTest::keyClick(&view_, Qt::Key_Escape);
  EXPECT_FALSE(view_.select_mode());
  drag(QPoint(view_.area_origin().x() + 50, 5), QPoint(view_.area_origin().x() + 90, 5));
  EXPECT_EQ(chosen.size(), 2);
}

TEST_F(TimelineViewTest, AFileThatIsOpenedEndsADrag) {
  const QPoint at = in_area(100.0);
  const auto move = [&](const QPoint& to) {
    QMouseEvent event(QEvent::MouseMove, to, view_.viewport()->mapToGlobal(to), Qt::NoButton, Qt::LeftButton,
                      Qt::ShiftModifier);
    QApplication::sendEvent(view_.viewport(), &event);
  };
  QSignalSpy chosen(&view_, &TimelineView::range_chosen);
  QTest::mousePress(view_.viewport(), Qt::LeftButton, Qt::ShiftModifier, at);
  move(at + QPoint(30, 0));
  ASSERT_TRUE(view_.range());
  view_.set_timeline(nullptr);
  move(at + QPoint(60, 0));
  EXPECT_FALSE(view_.range());
  QTest::mouseRelease(view_.viewport(), Qt::LeftButton, Qt::ShiftModifier, at + QPoint(60, 0));
  EXPECT_TRUE(chosen.isEmpty());
  view_.set_timeline(all_);
  view_.show_range(1100 * ms, 1200 * ms);
  QTest::mousePress(view_.viewport(), Qt::LeftButton, Qt::NoModifier, at);
  move(at + QPoint(40, 0));
  EXPECT_EQ(view_.viewport()->cursor().shape(), Qt::ClosedHandCursor);
  view_.set_timeline(nullptr);
  EXPECT_EQ(view_.viewport()->cursor().shape(), Qt::ArrowCursor);
}

TEST_F(TimelineViewTest, ADragGoesOnFromTheSameMomentWhenRawEventsBeginEarlier) {
  view_.show_range(1100 * ms, 1200 * ms);
  const QPoint at = in_area(100.0);
  const auto pressed_ns = all_->begin_ns + std::llround(view_.axis().ns_of(at.x() - view_.area_origin().x()));
  QTest::mousePress(view_.viewport(), Qt::LeftButton, Qt::ShiftModifier, at);
  auto earlier = std::make_shared<timeline::Timeline>(*all_);
  earlier->begin_ns -= 50 * ms;
  view_.set_timeline(earlier);
  QSignalSpy chosen(&view_, &TimelineView::range_chosen);
  QTest::mouseRelease(view_.viewport(), Qt::LeftButton, Qt::ShiftModifier, at + QPoint(80, 0));
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_NEAR(static_cast<double>(chosen[0][0].toLongLong() - pressed_ns), 0.0, 2.0);
}

}  // namespace
}  // namespace ddpprof::gui
