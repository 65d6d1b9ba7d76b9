// The timeline used as a user does: wheel, keys, drags; and its painting.
#include "analysis/timeline/search.hpp"
#include "tests/gui/timeline/timeline_view_fixture.hpp"

namespace ddpprof::gui {
namespace {

TEST_F(TimelineViewTest, TheWheelZoomsAboutTheCursor) {
  const double x = 300.0;
  const double under = view_.axis().ns_of(x), before = view_.axis().ns_per_px;
  wheel(in_area(x), 4);
  EXPECT_NEAR(view_.axis().ns_per_px, before / std::pow(1.25, 4), 1e-6 * before);
  EXPECT_NEAR(view_.axis().ns_of(x), under, 1e-6 * under);
  wheel(in_area(x), -40);
  EXPECT_EQ(view_.axis(), whole(static_cast<double>(all_->end_ns - all_->begin_ns), view_.area_width()));
}

TEST_F(TimelineViewTest, TheWheelMovesSidewaysWithShiftAndScrollsOverTheLabels) {
  wheel(in_area(300.0), 10);
  const Axis before = view_.axis();
  wheel(in_area(300.0), -1, Qt::ShiftModifier);
  EXPECT_GT(view_.axis().left_ns, before.left_ns);
  EXPECT_EQ(view_.axis().ns_per_px, before.ns_per_px);
  view_.resize(1000, 200);
  wheel(QPoint(10, 100), -1);
  EXPECT_GT(view_.verticalScrollBar()->value(), 0);
}

TEST_F(TimelineViewTest, KeysZoomAndMove) {
  const Axis start = view_.axis();
  for (int i = 0; i < 6; ++i) QTest::keyClick(&view_, Qt::Key_W);
  EXPECT_LT(view_.axis().ns_per_px, start.ns_per_px);
  const Axis zoomed_in = view_.axis();
  QTest::keyClick(&view_, Qt::Key_D);
  EXPECT_GT(view_.axis().left_ns, zoomed_in.left_ns);
  QTest::keyClick(&view_, Qt::Key_A);
  EXPECT_NEAR(view_.axis().left_ns, zoomed_in.left_ns, 1.0);
  QTest::keyClick(&view_, Qt::Key_S);
  EXPECT_GT(view_.axis().ns_per_px, zoomed_in.ns_per_px);
  QTest::keyClick(&view_, Qt::Key_End);
  EXPECT_LE(view_.axis().x_of(static_cast<double>(all_->end_ns - all_->begin_ns)), view_.area_width());
  QTest::keyClick(&view_, Qt::Key_Home);
  EXPECT_GE(view_.axis().x_of(0.0), 0.0);
  QTest::keyClick(&view_, Qt::Key_0);
  EXPECT_EQ(view_.axis(), start);
  QTest::keyClick(&view_, Qt::Key_Plus);
  EXPECT_LT(view_.axis().ns_per_px, start.ns_per_px);
  QTest::keyClick(&view_, Qt::Key_Minus);
  EXPECT_NEAR(view_.axis().ns_per_px, start.ns_per_px, 1e-6 * start.ns_per_px);
}

TEST_F(TimelineViewTest, ADragMovesTheViewAndAClickFocuses) {
  wheel(in_area(300.0), 10);
  const double under = view_.axis().ns_of(300.0);
  drag(in_area(300.0), in_area(360.0));
  EXPECT_NEAR(view_.axis().ns_of(360.0), under, 1.0);
  EXPECT_FALSE(view_.focus());
  view_.show_all();
  const QRect step = view_.rect_of({row_of(0, timeline::TrackKind::steps), 1});
  ASSERT_FALSE(step.isEmpty());
  QTest::mouseClick(view_.viewport(), Qt::LeftButton, Qt::NoModifier, step.center());
  EXPECT_EQ(focused(), "step 1");
}

TEST_F(TimelineViewTest, ArrowsGoFromEventToEvent) {
  QTest::keyClick(&view_, Qt::Key_Right);
  EXPECT_EQ(focused(), "step 0") << "the first in view";
  QTest::keyClick(&view_, Qt::Key_Right);
  EXPECT_EQ(focused(), "step 1");
  QTest::keyClick(&view_, Qt::Key_Down);
  EXPECT_EQ(focused(), "data_wait");
  QTest::keyClick(&view_, Qt::Key_Right);
  EXPECT_EQ(focused(), "forward");
  QTest::keyClick(&view_, Qt::Key_Left);
  QTest::keyClick(&view_, Qt::Key_Left);
  EXPECT_EQ(focused(), "optimizer");
  QTest::keyClick(&view_, Qt::Key_Up);
  EXPECT_EQ(focused(), "step 0");
  QTest::keyClick(&view_, Qt::Key_F);
  EXPECT_NEAR(view_.axis().ns_per_px * view_.area_width() * (1.0 - 2.0 * margin), 120.0 * ms, 10.0);
  QTest::keyClick(&view_, Qt::Key_R);
  EXPECT_EQ(view_.range(), (std::pair<std::int64_t, std::int64_t>{1000 * ms, 1120 * ms}));
  QTest::keyClick(&view_, Qt::Key_Escape);
  QTest::keyClick(&view_, Qt::Key_Escape);
  EXPECT_FALSE(view_.focus());
}

TEST_F(TimelineViewTest, ARankCollapsesByKeyAndByClick) {
  const int open = view_.layout().height();
  QTest::keyClick(&view_, Qt::Key_Right);
  QTest::keyClick(&view_, Qt::Key_C);
  EXPECT_TRUE(view_.collapsed(0));
  EXPECT_LT(view_.layout().height(), open);
  QTest::mouseClick(view_.viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(10, view_.area_origin().y() + 5));
  EXPECT_FALSE(view_.collapsed(0));
  EXPECT_EQ(view_.layout().height(), open);
}

TEST_F(TimelineViewTest, FocusingAHiddenEventOpensItsRankAndBringsItIntoView) {
  view_.set_collapsed(1, true);
  view_.show_range(1000 * ms, 1000 * ms + 100);
  view_.set_focus(timeline::EventRef{row_of(1, timeline::TrackKind::collectives), 2});
  EXPECT_FALSE(view_.collapsed(1));
  EXPECT_FALSE(view_.rect_of(*view_.focus()).isEmpty());
}

TEST_F(TimelineViewTest, AFocusedRowFarBelowIsShownWithTheNextOne) {
  view_.resize(1000, 160);
  const timeline::EventRef below{row_of(1, timeline::TrackKind::steps), 1};
  ASSERT_TRUE(view_.rect_of(below).isEmpty() || view_.rect_of(below).top() > view_.viewport()->height());
  view_.set_focus(below);
  const QRect rect = view_.rect_of(below);
  EXPECT_LT(rect.bottom(), view_.viewport()->height() - 4) << "not under the frame";
  EXPECT_GE(rect.top(), view_.area_origin().y());
}

TEST_F(TimelineViewTest, TheTooltipDescribesTheEvent) {
  const timeline::EventRef collective{row_of(0, timeline::TrackKind::collectives), 0};
  const QString text = view_.text_at(view_.rect_of(collective).center());
  EXPECT_TRUE(text.contains("all_reduce bucket 0")) << text.toStdString();
  EXPECT_TRUE(text.contains("duration 24")) << text.toStdString();
  EXPECT_TRUE(text.contains("1 MiB")) << text.toStdString();
  EXPECT_TRUE(text.contains("rank 0")) << text.toStdString();
  // The ranges of thread 77 are microseconds in a run of half a second: one pixel.
  const Line* line = view_.layout().of_row(row_of(0, timeline::TrackKind::nvtx));
  ASSERT_NE(line, nullptr);
  const QPoint at(view_.area_origin().x() + static_cast<int>(view_.axis().x_of(0.0)),
                  view_.area_origin().y() + line->y + 5 - view_.verticalScrollBar()->value());
  EXPECT_TRUE(view_.text_at(at).startsWith("3 events folded here")) << view_.text_at(at).toStdString();
}

TEST_F(TimelineViewTest, MoreOfTheSameMeasurementKeepsViewAndFocus) {
  std::shared_ptr<const timeline::Timeline> first;
  timeline::LoadHooks hooks;
  hooks.first = [&](std::shared_ptr<const timeline::Timeline> early) { first = std::move(early); };
  const auto full = timeline::load(file_.path, test::traced_measurement, hooks);
  TimelineView view;
  view.resize(1000, 600);
  view.show();
  view.set_timeline(first);
  view.show_range(1100 * ms, 1200 * ms);
  const std::uint32_t last_steps = first->tracks[first->ranks[1].first_track].first_row;
  view.set_focus(timeline::EventRef{last_steps, 1});
  const std::int64_t left_ns = first->begin_ns + static_cast<std::int64_t>(view.axis().left_ns);
  view.set_timeline(full);
  EXPECT_NEAR(static_cast<double>(full->begin_ns) + view.axis().left_ns, static_cast<double>(left_ns), 2.0);
  ASSERT_TRUE(view.focus());
  EXPECT_EQ(full->names.text(full->rows[view.focus()->row].name[view.focus()->event]), "step 1");
  EXPECT_EQ(full->tracks[full->rows[view.focus()->row].track].rank, 1U);
}

TEST_F(TimelineViewTest, WhatIsPaintedHasTheCategoriesColours) {
  const auto colour_at = [&](timeline::EventRef event) {
    const QImage image = view_.viewport()->grab().toImage();
    const QRect rect = view_.rect_of(event);
    return image.pixelColor(rect.right() - 3, rect.top() + 2);
  };
  view_.set_flows(false);
  const std::uint32_t collectives = row_of(0, timeline::TrackKind::collectives);
  view_.show_range(1040 * ms, 1070 * ms);
  const QColor exposed = colour(Colour::exposed, view_.palette());
  const QColor painted = colour_at({collectives, 0});
  EXPECT_EQ(painted.hsvHue() / 10, exposed.hsvHue() / 10) << painted.name().toStdString();
  const QColor before = view_.viewport()->grab().toImage().pixelColor(5, view_.viewport()->height() - 5);
  view_.setPalette(dark_palette());
  QApplication::processEvents();
  const QColor after = view_.viewport()->grab().toImage().pixelColor(5, view_.viewport()->height() - 5);
  EXPECT_GT(before.lightness(), 128);
  EXPECT_LT(after.lightness(), 128) << "the widget follows the palette";
}

TEST_F(TimelineViewTest, HiddenRawEventsLoseTheFocusAndFocusingOneShowsThem) {
  const timeline::EventRef raw{row_of(0, timeline::TrackKind::nvtx), 0};
  QSignalSpy changed(&view_, &TimelineView::raw_changed);
  view_.set_focus(raw);
  EXPECT_TRUE(changed.isEmpty());
  view_.set_raw(false);
  EXPECT_FALSE(view_.focus());
  EXPECT_EQ(view_.layout().of_row(raw.row), nullptr);
  view_.set_focus(raw);
  EXPECT_TRUE(view_.raw());
  EXPECT_FALSE(view_.rect_of(raw).isEmpty());
  ASSERT_EQ(changed.size(), 2);
  EXPECT_EQ(changed[1][0].toBool(), true);
}

TEST_F(TimelineViewTest, ACollapsedRanksFocusGoesToItsStep) {
  view_.set_focus(timeline::EventRef{row_of(0, timeline::TrackKind::collectives), 1});
  ASSERT_EQ(view_.layout().of_row(view_.focus()->row)->what, Line::What::row);
  const std::int64_t before_ns = all_->rows[view_.focus()->row].start_ns[view_.focus()->event];
  QTest::keyClick(&view_, Qt::Key_C);
  ASSERT_TRUE(view_.focus());
  EXPECT_EQ(view_.focus()->row, row_of(0, timeline::TrackKind::steps));
  const timeline::Event step = all_->rows[view_.focus()->row].at(view_.focus()->event);
  EXPECT_LE(step.start_ns, before_ns);
  EXPECT_GT(step.end_ns(), before_ns);
  QTest::keyClick(&view_, Qt::Key_C);
  EXPECT_FALSE(view_.collapsed(0));
}

TEST_F(TimelineViewTest, HitsAreMarkedAndEmptyTimelinesArePainted) {
  const QImage before = view_.viewport()->grab().toImage();
  view_.set_hits(timeline::matching_names(all_->names, "backward"), *timeline::search(*all_, "backward"));
  EXPECT_NE(view_.viewport()->grab().toImage(), before);
  view_.set_timeline(nullptr);
  EXPECT_FALSE(view_.viewport()->grab().isNull());
  QTest::keyClick(&view_, Qt::Key_Right);
  QTest::mouseClick(view_.viewport(), Qt::LeftButton, Qt::NoModifier, in_area(50.0));
  wheel(in_area(50.0), 1);
  EXPECT_FALSE(view_.focus());
  auto nothing = std::make_shared<timeline::Timeline>();
  view_.set_timeline(nothing);
  EXPECT_FALSE(view_.viewport()->grab().isNull());
}

}  // namespace
}  // namespace ddpprof::gui
