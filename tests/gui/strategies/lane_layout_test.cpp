// The places of lanes, segments, ticks and the legend, computed by hand.
#include "gui/widgets/lane_layout.hpp"

#include <gtest/gtest.h>

namespace ddpprof::gui {
namespace {

using step::SegmentKind;

step::StepLanes two_lanes() {
  step::StepLanes lanes;
  lanes.step_s = 0.1;
  lanes.lanes = {
      {"thread",
       {{"forward", SegmentKind::forward, 0.0, 0.04, {}}, {"backward", SegmentKind::backward, 0.04, 0.1, {}}}},
      {"link",
       {{"ready", SegmentKind::gradient, 0.06, 0.06, {}}, {"all-reduce", SegmentKind::overlapped, 0.06, 0.09, 4096}}}};
  return lanes;
}

// Lines of 14, characters of 10: the longest label has 6, so the plot starts at 6 + 60 + 12.
constexpr LaneMetrics metrics{14.0, 10.0};

TEST(LaneLayout, PlacesSegmentsOnOneTimeAxis) {
  const LaneLayout layout = lay_out(two_lanes(), 590.0, {0.0, 0.2}, metrics);
  ASSERT_EQ(layout.lanes.size(), 2U);
  EXPECT_EQ(layout.lanes[0].row, QRectF(78.0, 26.0, 500.0, 20.0));
  EXPECT_EQ(layout.lanes[1].row, QRectF(78.0, 49.0, 500.0, 20.0));
  EXPECT_EQ(layout.plot, QRectF(78.0, 26.0, 500.0, 43.0));
  ASSERT_EQ(layout.segments.size(), 4U);
  // 2500 units per second.
  EXPECT_EQ(layout.segments[0].rect, QRectF(78.0, 26.0, 100.0, 20.0));
  EXPECT_EQ(layout.segments[1].rect, QRectF(178.0, 26.0, 150.0, 20.0));
  EXPECT_EQ(layout.segments[2].rect, QRectF(228.0 - 2.5, 49.0, 5.0, 20.0));
  EXPECT_NEAR(layout.segments[3].rect.left(), 228.0, 1e-9);
  EXPECT_NEAR(layout.segments[3].rect.width(), 75.0, 1e-9);
}

TEST(LaneLayout, CutsWhatTheWindowDoesNotShow) {
  const LaneLayout layout = lay_out(two_lanes(), 590.0, {0.05, 0.07}, metrics);
  ASSERT_EQ(layout.segments.size(), 3U);  // forward has ended
  EXPECT_EQ(layout.segments[0].segment, 1U);
  EXPECT_EQ(layout.segments[0].rect, QRectF(78.0, 26.0, 500.0, 20.0));
  EXPECT_NEAR(layout.segments[2].rect.left(), 328.0, 1e-9);
  EXPECT_NEAR(layout.segments[2].rect.right(), 578.0, 1e-9);
}

TEST(LaneLayout, NamesItsAxisInTheUnitOfItsTicks) {
  const LaneLayout layout = lay_out(two_lanes(), 590.0, {0.0, 0.1}, metrics);
  EXPECT_EQ(layout.axis, "time since the start of the step [ms]");
  ASSERT_EQ(layout.ticks.size(), 6U);
  EXPECT_EQ(layout.ticks[0].text, "0");
  EXPECT_EQ(layout.ticks[1].text, "20");
  EXPECT_NEAR(layout.ticks[1].x, 178.0, 1e-9);
  EXPECT_NEAR(layout.ticks[5].x, 578.0, 1e-9);
}

TEST(LaneLayout, TicksAreRoundAndNotMoreThanAskedFor) {
  struct Case {
    TimeWindow window;
    int most;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {{0.0, 1.0}, 5, {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}},
      {{0.0, 1.0}, 4, {0.0, 0.5, 1.0}},
      {{0.013, 0.027}, 10, {0.014, 0.016, 0.018, 0.02, 0.022, 0.024, 0.026}},
      {{0.0, 0.0}, 5, {}},
      {{0.0, 3e-6}, 3, {0.0, 1e-6, 2e-6, 3e-6}},
  };
  for (const Case& one : cases) {
    const std::vector<double> ticks = tick_times_s(one.window, one.most);
    ASSERT_EQ(ticks.size(), one.expected.size()) << one.window.end_s;
    for (std::size_t i = 0; i < ticks.size(); ++i) EXPECT_NEAR(ticks[i], one.expected[i], 1e-12) << one.window.end_s;
  }
}

TEST(LaneLayout, ListsTheKindsThatAreDrawnInALegendThatWraps) {
  const step::StepLanes lanes = two_lanes();
  EXPECT_EQ(kinds_of(lanes),
            (std::vector{SegmentKind::forward, SegmentKind::backward, SegmentKind::overlapped, SegmentKind::gradient}));
  const LaneLayout wide = lay_out(lanes, 1200.0, {0.0, 0.1}, metrics),
                   narrow = lay_out(lanes, 300.0, {0.0, 0.1}, metrics);
  ASSERT_EQ(wide.legend.size(), 4U);
  EXPECT_EQ(wide.legend.front().text.top(), wide.legend.back().text.top());
  EXPECT_LT(narrow.legend.front().text.top(), narrow.legend.back().text.top());
  EXPECT_GT(narrow.height, wide.height);
  for (const LegendEntry& entry : narrow.legend) EXPECT_LE(entry.text.bottom(), narrow.height);
}

TEST(LaneLayout, HitsMomentsBeforeTheSegmentsBeneath) {
  const LaneLayout layout = lay_out(two_lanes(), 590.0, {0.0, 0.2}, metrics);
  EXPECT_EQ(layout.hit({100.0, 30.0}), 0U);
  EXPECT_EQ(layout.hit({178.5, 30.0}), 1U);
  EXPECT_EQ(layout.hit({230.0, 60.0}), 2U);  // the moment, although the all-reduce starts at the same place
  EXPECT_EQ(layout.hit({260.0, 60.0}), 3U);
  EXPECT_EQ(layout.hit({400.0, 30.0}), std::nullopt);
  EXPECT_EQ(layout.hit({100.0, 47.5}), std::nullopt);  // between two lanes
}

TEST(LaneLayout, ZoomsAboutAPointAndStaysInside) {
  const TimeWindow whole{0.0, 1.0};
  const TimeWindow in = zoomed(whole, 0.5, 0.25, whole);
  EXPECT_NEAR(in.begin_s, 0.125, 1e-12);
  EXPECT_NEAR(in.end_s, 0.625, 1e-12);
  EXPECT_EQ(zoomed(in, 4.0, 0.25, whole), whole);
  EXPECT_NEAR(zoomed({0.9, 1.0}, 2.0, 1.0, whole).begin_s, 0.8, 1e-12);
  EXPECT_NEAR(zoomed(whole, 1e-30, 0.5, whole).length_s(), 1e-5, 1e-15);
  EXPECT_NEAR(moved({0.2, 0.4}, 5.0, whole).begin_s, 0.8, 1e-12);
  EXPECT_NEAR(moved({0.2, 0.4}, -5.0, whole).begin_s, 0.0, 1e-12);
}

}  // namespace
}  // namespace ddpprof::gui
