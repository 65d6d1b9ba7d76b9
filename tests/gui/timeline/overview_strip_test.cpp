// The strip and the legend above the timeline, short names, and hatched waits.
#include <QImage>
#include <QMouseEvent>
#include <algorithm>
#include <map>

#include "gui/plots/colours.hpp"
#include "gui/timeline/overview_strip.hpp"
#include "gui/timeline/short_name.hpp"
#include "gui/timeline/timeline_legend.hpp"
#include "tests/gui/timeline/timeline_page_fixture.hpp"

namespace ddpprof::gui {
namespace {

TEST(ShortName, LeavesOutWhatEveryNameBeginsWith) {
  EXPECT_EQ(short_name("void at::native::vectorized<4>()"), "at::native::vectorized<4>()");
  EXPECT_EQ(short_name("aten::linear"), "linear");
  EXPECT_EQ(short_name("void aten::x"), "x");
  EXPECT_EQ(short_name("voided"), "voided");
  EXPECT_EQ(short_name("void "), "void ") << "never empty";
  EXPECT_EQ(short_name("aten::"), "aten::");
  EXPECT_EQ(short_name(""), "");
}

class StripTest : public TimelinePageTest {
 protected:
  void SetUp() override {
    TimelinePageTest::SetUp();
    ASSERT_TRUE(QTest::qWaitFor([&] { return page_.strip().shown().has_value(); }, patience_ms));
  }
  double left() { return page_.view().axis().left_ns; }
  double right() { return page_.view().axis().ns_of(page_.view().area_width()); }
  void drag(double from, double to) {
    OverviewStrip& strip = page_.strip();
    const auto at = [&](double x) { return QPoint(static_cast<int>(x), strip.height() / 2); };
    QTest::mousePress(&strip, Qt::LeftButton, {}, at(from));
    for (int i = 1; i <= 4; ++i) {
      const QPoint here = at(from + (to - from) * i / 4);
      QMouseEvent move(QEvent::MouseMove, here, strip.mapToGlobal(here), Qt::NoButton, Qt::LeftButton, {});
      QApplication::sendEvent(&strip, &move);
    }
    QTest::mouseRelease(&strip, Qt::LeftButton, {}, at(to));
  }
};

TEST_F(StripTest, FollowsTheView) {
  const double span_ns = static_cast<double>(all().end_ns - all().begin_ns);
  page_.view().show_exactly(0.25 * span_ns, 0.5 * span_ns);
  const QRectF box = page_.strip().view_box();
  const double gutter = page_.view().area_origin().x(), room = page_.strip().width() - gutter;
  EXPECT_NEAR(box.left(), gutter + 0.25 * room, 2.0);
  EXPECT_NEAR(box.right(), gutter + 0.5 * room, 2.0);
}

TEST_F(StripTest, DraggingMovesResizesAndSelects) {
  const double span_ns = static_cast<double>(all().end_ns - all().begin_ns);
  const double pixel_ns = span_ns / (page_.strip().width() - page_.view().area_origin().x());
  page_.view().show_exactly(0.25 * span_ns, 0.5 * span_ns);
  QRectF box = page_.strip().view_box();
  drag(box.center().x(), box.center().x() + 100.0);
  EXPECT_NEAR(left(), 0.25 * span_ns + 100.0 * pixel_ns, 2.0 * pixel_ns);
  EXPECT_NEAR(right() - left(), 0.25 * span_ns, 2.0 * pixel_ns) << "as long as before";
  box = page_.strip().view_box();
  const double stays_ns = left();
  drag(box.right(), box.right() + 50.0);
  EXPECT_NEAR(left(), stays_ns, 2.0 * pixel_ns);
  EXPECT_NEAR(right() - left(), 0.25 * span_ns + 50.0 * pixel_ns, 3.0 * pixel_ns);
  const double gutter = page_.view().area_origin().x();
  drag(gutter + 20.0, gutter + 60.0);
  EXPECT_NEAR(left(), 20.0 * pixel_ns, 2.0 * pixel_ns);
  EXPECT_NEAR(right(), 60.0 * pixel_ns, 2.0 * pixel_ns);
}

TEST_F(StripTest, AnEventIsNotDraggedOutOfTheTimeline) {
  const double span_ns = static_cast<double>(all().end_ns - all().begin_ns);
  page_.view().show_exactly(0.25 * span_ns, 0.5 * span_ns);
  const QRectF box = page_.strip().view_box();
  drag(box.center().x(), -500.0);
  EXPECT_NEAR(left(), 0.0, 1e-3 * span_ns);
  EXPECT_NEAR(right(), 0.25 * span_ns, 1e-2 * span_ns);
}

TEST_F(StripTest, TheLegendNamesTheColoursThatAreDrawn) {
  QStringList texts;
  for (const TimelineLegend::Entry& entry : page_.legend().entries()) texts << entry.text;
  EXPECT_TRUE(texts.contains("compute")) << texts.join(", ").toStdString();
  EXPECT_TRUE(texts.contains("communication"));
  for (const int width : {300, 700, 1280}) {
    const std::vector<QRect> boxes = page_.legend().boxes(width);
    ASSERT_EQ(boxes.size(), page_.legend().entries().size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_LE(boxes[i].right(), width);
      EXPECT_LE(boxes[i].bottom(), page_.legend().heightForWidth(width));
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(boxes[i].intersects(boxes[j])) << width;
    }
  }
}

// Two ranks; rank 1 starts the all-reduce 400 µs after rank 0. Only rank 0's event is hatched, in its first 40 %.
TEST(Hatching, ACollectiveThatWaitsForTheLastRank) {
  timeline::Timeline all;
  const std::uint32_t name = all.names.intern("all_reduce", timeline::Category::collective);
  timeline::Group group;
  const std::int64_t starts[] = {0, 400'000};
  for (std::uint32_t r = 0; r < 2; ++r) {
    timeline::Rank rank;
    rank.rank = r;
    rank.first_track = r;
    rank.tracks = 1;
    all.ranks.push_back(rank);
    all.tracks.push_back({timeline::TrackKind::collectives, r, "collectives", r, 1});
    timeline::Collective c;
    c.rank = c.row = r;
    c.start_ns = c.launch_ns = starts[r];
    c.end_ns = 1'000'000;
    timeline::Row row;
    row.track = r;
    row.start_ns = {starts[r]};
    row.duration_ns = {1'000'000 - starts[r]};
    row.name = {name};
    row.argument = {r};
    all.rows.push_back(row);
    all.collectives.push_back(c);
    group.members.push_back(r);
  }
  all.end_ns = all.longest_group_ns = group.last_ns = 1'000'000;
  all.groups.push_back(group);
  TimelinePainter painter;
  painter.set_style(light_palette(), QFont());
  const Layout layout(all, {});
  Scene scene;
  scene.timeline = &all;
  scene.layout = &layout;
  scene.width = painter.gutter() + 500;
  scene.height = 200;
  scene.axis = {0.0, 1'000'000.0 / 500.0};
  scene.flows = false;
  QImage image(scene.width, scene.height, QImage::Format_RGB32);
  QPainter onto(&image);
  painter.paint(onto, scene);
  onto.end();
  // The share of pixels that do not have the most frequent colour. Ticks of the ruler cross all rows.
  const auto striped = [&](std::uint32_t row, double from_ns, double to_ns) {
    const Line* line = layout.of_row(row);
    std::map<QRgb, double> found;
    const int y = painter.ruler() + line->y + line->height - 4;  // below the label
    for (int x = static_cast<int>(scene.axis.x_of(from_ns)); x < scene.axis.x_of(to_ns); ++x)
      ++found[image.pixel(painter.gutter() + x, y)];
    double all_px = 0.0, most_px = 0.0;
    for (const auto& [colour, count] : found) {
      all_px += count;
      most_px = std::max(most_px, count);
    }
    return 1.0 - most_px / all_px;
  };
  EXPECT_GT(striped(0, 20'000, 380'000), 0.1) << "waits";
  EXPECT_LT(striped(0, 420'000, 980'000), 0.05) << "is transferred";
  EXPECT_LT(striped(1, 420'000, 980'000), 0.05) << "the last rank does not wait";
}

TEST(Hatching, CallsThatWaitForADeviceAndInput) {
  timeline::Names names;
  const auto wait = [&](const char* text, timeline::Category category) {
    return is_wait(names, names.intern(text, category));
  };
  EXPECT_TRUE(wait("cudaStreamSynchronize", timeline::Category::cuda_call));
  EXPECT_FALSE(wait("cudaLaunchKernel", timeline::Category::cuda_call));
  EXPECT_TRUE(wait("data_wait", timeline::Category::input));
  EXPECT_FALSE(wait("host_to_device", timeline::Category::input));
}

}  // namespace
}  // namespace ddpprof::gui
