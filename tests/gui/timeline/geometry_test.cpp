// Conversion between time and pixels, as tables of cases.
#include "gui/timeline/geometry.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "gui/timeline/layout.hpp"

namespace ddpprof::gui {
namespace {

TEST(Geometry, TheWholeFitsWithItsMargin) {
  // 960 px for 960,000 ns, 20 px on both sides.
  const Axis axis = whole(960'000.0, 1000.0);
  EXPECT_DOUBLE_EQ(axis.ns_per_px, 1000.0);
  EXPECT_DOUBLE_EQ(axis.x_of(0.0), 20.0);
  EXPECT_DOUBLE_EQ(axis.x_of(960'000.0), 980.0);
  EXPECT_DOUBLE_EQ(axis.ns_of(axis.x_of(123.0)), 123.0);
}

TEST(Geometry, ZoomKeepsTheTimeUnderTheCursor) {
  const Axis start = showing(400'000.0, 500'000.0, 1000.0, 960'000.0);
  for (const double x : {0.0, 250.0, 500.0, 999.0})
    for (const double factor : {1.25, 0.8, 4.0, 1.0}) {
      const Axis after = zoomed(start, x, factor, 1000.0, 960'000.0);
      EXPECT_NEAR(after.ns_of(x), start.ns_of(x), 1e-6) << x << " " << factor;
      EXPECT_NEAR(after.ns_per_px, start.ns_per_px / factor, 1e-9);
    }
}

TEST(Geometry, ZoomStopsAtTheWholeAndAtTheFinest) {
  const double span = 1e9, width = 1000.0;
  EXPECT_EQ(zoomed(whole(span, width), 300.0, 0.01, width, span), whole(span, width));
  EXPECT_DOUBLE_EQ(zoomed(whole(span, width), 300.0, 1e30, width, span).ns_per_px, finest_ns_per_px);
}

TEST(Geometry, PanStopsAtBothEnds) {
  const double span = 960'000.0, width = 1000.0;
  const Axis middle = showing(400'000.0, 500'000.0, width, span);
  EXPECT_NEAR(panned(middle, 10.0, width, span).left_ns, middle.left_ns - 10.0 * middle.ns_per_px, 1e-6);
  EXPECT_NEAR(panned(middle, 1e15, width, span).x_of(0.0), 20.0, 1e-6);
  EXPECT_NEAR(panned(middle, -1e15, width, span).x_of(span), 980.0, 1e-6);
  EXPECT_EQ(panned(whole(span, width), 500.0, width, span), whole(span, width));
}

TEST(Geometry, RevealingMovesNoFurtherThanNeeded) {
  const double span = 1e6, width = 1000.0;
  const Axis axis = showing(400'000.0, 500'000.0, width, span);
  EXPECT_EQ(revealing(axis, 420'000.0, 430'000.0, width, span), axis) << "in view";
  const Axis right = revealing(axis, 600'000.0, 601'000.0, width, span);
  EXPECT_DOUBLE_EQ(right.ns_per_px, axis.ns_per_px);
  EXPECT_NEAR(right.x_of(601'000.0), 980.0, 1e-6);
  EXPECT_NEAR(revealing(axis, 100'000.0, 101'000.0, width, span).x_of(100'000.0), 20.0, 1e-6);
  EXPECT_NEAR(revealing(axis, 300'000.0, 700'000.0, width, span).x_of(300'000.0), 20.0, 1e-6) << "longer than the view";
}

TEST(Geometry, LabelsHaveTheirUnit) {
  struct Case {
    double ns, step_ns;
    const char* label;
  };
  for (const Case& c : {Case{0.0, 1e6, "0 ms"}, Case{5e6, 1e6, "5 ms"}, Case{1.5e6, 5e5, "1.5 ms"},
                        Case{2.0e9, 5e8, "2.0 s"}, Case{12'345'678.0, 1.0, "12.345678 ms"}, Case{250.0, 50.0, "250 ns"},
                        Case{-2000.0, 1000.0, "-2 µs"}, Case{0.5, 0.1, "0.5 ns"}})
    EXPECT_EQ(time_label(c.ns, c.step_ns), c.label) << c.ns << " by " << c.step_ns;
}

TEST(Geometry, PixelsFarOutsideDoNotOverflow) {
  EXPECT_EQ(pixel(3.9), 3);
  EXPECT_EQ(pixel(-0.1), -1);
  // Ten seconds at 20 px per ns.
  for (const double far : {2e11, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(pixel(far), 100'000'000) << far;
    EXPECT_EQ(pixel(-far), -100'000'000) << far;
  }
}

TEST(Geometry, TicksAreRoundNumbersWithRoomForTheirLabels) {
  for (const double ns_per_px : {0.05, 1.0, 3.7, 1000.0, 123'456.0, 1e7}) {
    const Axis axis{-50.0 * ns_per_px, ns_per_px};
    double last = -1e9;
    int labels = 0;
    for (const RulerTick& tick : ruler_ticks(axis, 1500.0, 100.0)) {
      EXPECT_NEAR(axis.ns_of(tick.x), tick.ns, 1e-6 * ns_per_px);
      if (tick.label.empty()) continue;
      ++labels;
      EXPECT_GE(tick.x - last, 100.0 - 1e-6) << ns_per_px;
      last = tick.x;
    }
    EXPECT_GE(labels, 5) << ns_per_px;
    EXPECT_LE(labels, 16) << ns_per_px;
  }
}

timeline::Timeline two_ranks() {
  timeline::Timeline all;
  all.begin_ns = 1000;
  all.end_ns = 2000;
  for (std::uint32_t r = 0; r < 2; ++r) {
    timeline::Rank rank;
    rank.rank = r;
    rank.first_track = 2 * r;
    rank.tracks = 2;
    all.ranks.push_back(rank);
    all.tracks.push_back({timeline::TrackKind::steps, r, "steps", 3 * r, 2});
    all.tracks.push_back({timeline::TrackKind::nvtx, r, "NVTX", 3 * r + 2, 1});
  }
  for (std::uint32_t i = 0; i < 6; ++i) {
    timeline::Row row;
    row.track = i / 3 * 2 + (i % 3 == 2 ? 1 : 0);
    row.start_ns = {1000, 1100, 1101, 1500};
    row.duration_ns = {50, 1, 1, 400};
    row.name = row.argument = {0, 0, 0, 0};
    all.rows.push_back(row);
  }
  return all;
}

TEST(TimelineLayout, HeadersRowsAndGapsFollowEachOther) {
  const timeline::Timeline all = two_ranks();
  const Layout layout(all, {});
  ASSERT_EQ(layout.lines().size(), 8U);
  EXPECT_EQ(layout.lines()[0].what, Line::What::header);
  EXPECT_EQ(layout.lines()[1].y, 22);
  EXPECT_EQ(layout.lines()[3].y, 22 + 2 * 16 + 3) << "a gap between tracks";
  EXPECT_EQ(layout.height(), 2 * (22 + 3 * 16 + 2 * 3));
  EXPECT_EQ(layout.at(10)->what, Line::What::header);
  EXPECT_EQ(layout.at(23)->row, 0U);
  EXPECT_EQ(layout.at(22 + 32 + 1), nullptr) << "in the gap";
  EXPECT_EQ(layout.at(-1), nullptr);
  EXPECT_EQ(layout.at(layout.height()), nullptr);
  EXPECT_EQ(layout.between(0, 23), (std::pair<std::size_t, std::size_t>{0, 2}));
}

TEST(TimelineLayout, ACollapsedRankKeepsItsStepsInItsHeader) {
  const timeline::Timeline all = two_ranks();
  LayoutOptions options;
  options.collapsed = {true};
  const Layout layout(all, options);
  ASSERT_EQ(layout.lines().size(), 5U);
  EXPECT_TRUE(layout.lines()[0].has_row);
  EXPECT_EQ(layout.of_row(0), &layout.lines()[0]);
  EXPECT_EQ(layout.of_row(1), nullptr);
  options.raw = false;
  EXPECT_EQ(Layout(all, options).of_row(5), nullptr);
}

TEST(TimelineLayout, HitsAreEventsOrFoldedEvents) {
  const timeline::Timeline all = two_ranks();
  const Axis fine{0.0, 1.0}, coarse{0.0, 10.0};
  struct Case {
    Axis axis;
    double x;
    std::uint32_t count, event;
  };
  for (const Case& c : {Case{fine, 25.0, 1, 0}, Case{coarse, 2.0, 1, 0}, Case{coarse, 10.0, 2, 1},
                        Case{coarse, 60.0, 1, 3}, Case{fine, 103.0, 1, 2}}) {
    const auto found = hit(all, 0, c.axis, c.x);
    ASSERT_TRUE(found) << c.x;
    EXPECT_EQ(found->count, c.count) << c.x;
    EXPECT_EQ(found->event.event, c.event) << c.x;
  }
  EXPECT_FALSE(hit(all, 0, fine, 300.0));
  EXPECT_FALSE(hit(all, 0, fine, 5000.0));
}

TEST(TimelineLayout, AFocusedEventHasTheNumberOfEventsFoldedWithIt) {
  const timeline::Timeline all = two_ranks();  // [1000, 1050), [1100, 1101), [1101, 1102), [1500, 1900)
  EXPECT_EQ(folded_with(all, {0, 1}, {0.0, 10.0}), 2U);
  EXPECT_EQ(folded_with(all, {0, 2}, {0.0, 100.0}), 3U) << "within 200 ns";
  EXPECT_EQ(folded_with(all, {0, 1}, {0.0, 0.05}), 1U);
  EXPECT_EQ(folded_with(all, {0, 0}, {0.0, 10.0}), 1U) << "5 px wide";
}

TEST(TimelineLayout, AFoundEventIsPannedToZoomedInOnOrZoomedOutTo) {
  // A row of 1 ms in 1000 px: a long event, a narrow one, two adjacent ones, then instants: two that are 2 ns apart,
  // and a single one.
  timeline::Timeline all;
  all.begin_ns = 5000;
  all.end_ns = 5000 + 1'000'000;
  timeline::Row row;
  for (const auto& [start_ns, duration_ns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 300'000}, {400'000, 400}, {500'000, 10}, {500'010, 10}, {600'000, 0}, {600'002, 0}, {900'000, 0}}) {
    row.start_ns.push_back(all.begin_ns + start_ns);
    row.duration_ns.push_back(duration_ns);
  }
  all.rows.push_back(row);
  constexpr double width = 1000.0;
  const Axis all_of_it = whole(1e6, width);
  struct Case {
    const char* what;
    std::uint32_t event;
    Axis axis;
    bool pans;
    double begin_ns, end_ns;  // in view
    double px;                // width after a zoom
  };
  for (const Case& c : {
           Case{"readable and in view: nothing moves", 0, all_of_it, true, 0.0, 300e3, 0.0},
           Case{"readable, out of view: panned", 1, {600e3, 10.0}, true, 400e3, 400.4e3, 0.0},
           Case{"a third of a pixel", 1, all_of_it, false, 400e3, 400.4e3, 240.0},
           Case{"8 px", 1, {399e3, 50.0}, false, 400e3, 400.4e3, 240.0},
           Case{"folded with its neighbour: as fine as it gets", 3, all_of_it, false, 500'010.0, 500'020.0, 200.0},
           Case{"wider than the view: out until it fits", 0, {100e3, 10.0}, false, 0.0, 300e3, 960.0},
           Case{"an instant beside another: their way apart", 4, all_of_it, false, 600e3, 600'002.0, 40.0},
           Case{"an instant that can be told apart", 4, {600e3, 0.05}, true, 600e3, 600e3, 0.0},
           Case{"a lone instant", 6, all_of_it, true, 900e3, 900e3, 0.0},
       }) {
    const Axis after = showing_readably(all, {0, c.event}, c.axis, width);
    EXPECT_EQ(after.ns_per_px == c.axis.ns_per_px, c.pans) << c.what;
    EXPECT_GE(after.x_of(c.begin_ns), 0.0) << c.what;
    EXPECT_LE(after.x_of(c.end_ns), width) << c.what;
    if (!c.pans) {
      EXPECT_NEAR(after.x_of(c.end_ns) - after.x_of(c.begin_ns), c.px, 1e-6) << c.what;
    }
    EXPECT_EQ(showing_readably(all, {0, c.event}, after, width), after) << c.what << ": once there, it stays";
  }
}

}  // namespace
}  // namespace ddpprof::gui
