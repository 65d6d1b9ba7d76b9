// The lanes in a widget: keyboard, zoom, tooltips, pictures, both palettes.
#include "gui/widgets/lane_view.hpp"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QImage>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "gui/plots/colours.hpp"
#include "gui/widgets/lane_painter.hpp"

namespace ddpprof::gui {
namespace {

using step::SegmentKind;

step::StepLanes some_lanes() {
  step::StepLanes lanes;
  lanes.step_s = 0.1;
  lanes.lanes = {
      {"thread",
       {{"forward", SegmentKind::forward, 0.0, 0.04, {}}, {"backward", SegmentKind::backward, 0.04, 0.1, {}}}},
      {"nothing", {}},
      {"link",
       {{"bucket 0 ready", SegmentKind::gradient, 0.06, 0.06, {}},
        {"all-reduce of bucket 0", SegmentKind::overlapped, 0.06, 0.09, 4096}}}};
  return lanes;
}

class LaneViewTest : public testing::Test {
 protected:
  LaneViewTest() {
    view_.set_lanes(some_lanes(), "DDP", "ddp-lanes");
    view_.resize(600, view_.heightForWidth(600));
    view_.show();
    view_.setFocus();
  }
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&view_, static_cast<Qt::Key>(key), modifiers);
  }
  LaneView view_;
};

TEST_F(LaneViewTest, GoesFromSegmentToSegmentByKeyboard) {
  QSignalSpy said(&view_, &LaneView::segment_focused);
  press(Qt::Key_Right);
  ASSERT_TRUE(view_.focused());
  EXPECT_EQ(view_.focused()->segment, 0U);
  EXPECT_EQ(said.back().at(0).toString().toStdString(),
            "thread, forward: 40 ms, 40.0 % of the step, from 0 s to 40 ms");
  press(Qt::Key_Right);
  press(Qt::Key_Right);
  EXPECT_EQ(view_.focused()->segment, 1U);
  // Down skips the empty lane and goes to the segment with the nearest begin.
  press(Qt::Key_Down);
  EXPECT_EQ(view_.focused()->lane, 2U);
  EXPECT_EQ(said.back().at(0).toString().toStdString(), "link, bucket 0 ready: gradient ready at 60 ms");
  press(Qt::Key_End);
  EXPECT_EQ(said.back().at(0).toString().toStdString(),
            "link, all-reduce of bucket 0: 30 ms, 30.0 % of the step, from 60 ms to 90 ms; overlapped communication; "
            "4 KiB");
  EXPECT_TRUE(view_.accessibleDescription() == said.back().at(0).toString());
  press(Qt::Key_Up);
  EXPECT_EQ(view_.focused()->lane, 0U);
  press(Qt::Key_Escape);
  EXPECT_FALSE(view_.focused());
}

TEST_F(LaneViewTest, ZoomsByKeyboardAndEmitsASignal) {
  QSignalSpy changed(&view_, &LaneView::window_changed);
  press(Qt::Key_Plus);
  ASSERT_EQ(changed.size(), 1);
  EXPECT_NEAR(view_.window().length_s(), 0.08, 1e-12);
  EXPECT_NEAR(view_.window().begin_s, 0.01, 1e-12);
  press(Qt::Key_Right, Qt::ShiftModifier);
  EXPECT_NEAR(view_.window().begin_s, 0.018, 1e-12);
  press(Qt::Key_0);
  EXPECT_EQ(view_.window(), (TimeWindow{0.0, 0.1}));
  // A window set by the program emits no signal.
  const auto before = changed.size();
  view_.set_window({0.02, 0.03});
  EXPECT_EQ(changed.size(), before);
}

TEST_F(LaneViewTest, ShowsAFocusedSegmentThatWasOutside) {
  view_.set_window({0.0, 0.02});
  press(Qt::Key_Right);
  press(Qt::Key_Right);
  ASSERT_TRUE(view_.focused());
  EXPECT_NEAR(view_.window().begin_s, 0.04, 1e-12);
}

TEST_F(LaneViewTest, FreeHeightMakesRowsHigher) {
  const double before = view_.current_layout().lanes[0].row.height();
  view_.resize(600, view_.height() + 30);
  EXPECT_EQ(view_.current_layout().lanes[0].row.height(), before + 10.0);
  EXPECT_LE(view_.current_layout().height, view_.height());
  view_.resize(600, 4000);
  EXPECT_EQ(view_.current_layout().lanes[0].row.height(), before + 18.0);
}

TEST_F(LaneViewTest, AClickPicksASegment) {
  const LaneLayout layout = view_.current_layout();
  QTest::mouseClick(&view_, Qt::LeftButton, {}, layout.segments[1].rect.center().toPoint());
  ASSERT_TRUE(view_.focused());
  EXPECT_EQ(view_.focused()->segment, 1U);
}

TEST_F(LaneViewTest, IsPaintedInTheColoursOfEitherPalette) {
  for (const QPalette& palette : {light_palette(), dark_palette()}) {
    view_.setPalette(palette);
    view_.clearFocus();
    const QImage image = view_.grab().toImage();
    const double scale = image.devicePixelRatio();
    const auto at = [&](QPointF point) { return image.pixelColor((point * scale).toPoint()); };
    const QRectF forward = view_.current_layout().segments[0].rect;
    EXPECT_EQ(at({forward.right() - 6.0, forward.top() + 2.0}), colour(Colour::compute, palette));
    EXPECT_EQ(at({view_.width() - 3.0, 3.0}), palette.color(QPalette::Base));
  }
}

TEST(LanePainter, KindsOfOneMeaningShareAColour) {
  EXPECT_EQ(colour_of(SegmentKind::forward), colour_of(SegmentKind::optimizer));
  std::set<Colour> different;
  for (const SegmentKind kind : {SegmentKind::data, SegmentKind::backward, SegmentKind::copies, SegmentKind::overlapped,
                                 SegmentKind::exposed, SegmentKind::skew, SegmentKind::other})
    different.insert(colour_of(kind));
  EXPECT_EQ(different.size(), 7U);
}

TEST_F(LaneViewTest, IsSavedAndCopied) {
  QTemporaryDir folder;
  const QString png = folder.filePath("lanes.png"), svg = folder.filePath("lanes.svg");
  view_.save_png(png);
  const QImage image(png);
  EXPECT_EQ(image.width(), 2 * view_.width());
  EXPECT_EQ(image.height(), 2 * view_.height());
  view_.save_svg(svg);
  QFile file(svg);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray text = file.readAll();
  EXPECT_TRUE(text.contains("<svg"));
  EXPECT_TRUE(text.contains("backward"));
  EXPECT_THROW(view_.save_png(folder.filePath("no/folder.png")), std::runtime_error);
  EXPECT_THROW(view_.save_svg(folder.filePath("no/folder.svg")), std::runtime_error);
  QApplication::clipboard()->clear();
  view_.copy_picture();
  EXPECT_FALSE(QApplication::clipboard()->pixmap().isNull());
}

TEST_F(LaneViewTest, WithoutLanesShowsTheReason) {
  view_.set_message("DataParallel, N = 4", "no step of dp was measured");
  EXPECT_EQ(view_.accessibleDescription(), "no step of dp was measured");
  press(Qt::Key_Right);
  press(Qt::Key_Plus);
  EXPECT_FALSE(view_.focused());
  EXPECT_FALSE(view_.grab().isNull());
}

}  // namespace
}  // namespace ddpprof::gui
