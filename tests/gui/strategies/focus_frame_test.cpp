// The focus frame of a drawn widget is visible on the screen and absent in saved pictures.
#include <gtest/gtest.h>

#include <QImage>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>
#include <QVBoxLayout>

#include "gui/pages/strategies/side_bars.hpp"
#include "gui/widgets/lane_view.hpp"

namespace ddpprof::gui {
namespace {

template <class Drawn>
void expect_marked_with_the_keyboard_alone(bool with_pictures, const std::function<void(Drawn&)>& fill) {
  QTemporaryDir folder;
  QWidget window;
  auto* layout = new QVBoxLayout(&window);
  auto* other = new QLineEdit(&window);
  auto* drawn = new Drawn(&window);
  layout->addWidget(other);
  layout->addWidget(drawn, 1);
  fill(*drawn);
  window.resize(500, 400);
  window.show();
  window.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window, 10'000));
  const auto edge = [&] { return drawn->grab().toImage().pixelColor(0, drawn->height() / 2); };
  const auto saved = [&] {
    const QString path = folder.filePath("picture.png");
    if (with_pictures) drawn->save_png(path, 1.0);
    return QImage(path);
  };
  other->setFocus();
  const QColor mark = drawn->palette().color(QPalette::Highlight);
  EXPECT_NE(edge(), mark);
  const QImage without = saved();
  EXPECT_EQ(without.isNull(), !with_pictures);
  drawn->setFocus();
  ASSERT_TRUE(drawn->hasFocus());
  EXPECT_EQ(edge(), mark);
  EXPECT_EQ(saved(), without);
  other->setFocus();
  EXPECT_NE(edge(), mark);
}

TEST(FocusFrame, IsAroundAPlot) {
  expect_marked_with_the_keyboard_alone<SideBars>(true, [](SideBars& bars) {
    bars.set_bars("time", "s", {"DDP"}, {{"compute", Colour::compute, {1.0}}}, true);
  });
}

TEST(FocusFrame, IsAroundLanes) {
  expect_marked_with_the_keyboard_alone<LaneView>(true, [](LaneView& view) {
    step::StepLanes lanes;
    lanes.step_s = 1.0;
    lanes.lanes = {{"thread", {{"forward", step::SegmentKind::forward, 0.0, 1.0, {}}}}};
    view.set_lanes(lanes, "DDP", "lanes");
  });
}

TEST(FocusFrame, IsAroundAMessageInsteadOfLanes) {
  expect_marked_with_the_keyboard_alone<LaneView>(false,
                                                  [](LaneView& view) { view.set_message("DDP", "not measured"); });
}

}  // namespace
}  // namespace ddpprof::gui
