// The layout of a step's lanes in a picture: rows, segments, axis and legend as rectangles. Pure geometry.
#pragma once

#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

#include "simulator/step/lanes.hpp"

namespace ddpprof::gui {

struct TimeWindow {
  double begin_s = 0.0, end_s = 0.0;
  double length_s() const { return end_s - begin_s; }
  bool operator==(const TimeWindow&) const = default;
};

// Sizes derived from the font, in layout units.
struct LaneMetrics {
  double line = 14.0;                // height of a line of text
  double character = 7.0;            // mean width
  double spare = 0.0;                // additional height of each row
  std::size_t label_characters = 0;  // least room for labels in characters, so that the axes of two views are aligned
};

struct PlacedSegment {
  std::size_t lane = 0, segment = 0;
  QRectF rect;  // for a moment, as wide as its mark
  bool operator==(const PlacedSegment&) const = default;
};

struct PlacedLane {
  QRectF label, row;
};

struct Tick {
  double x = 0.0;
  QString text;
};

struct LegendEntry {
  step::SegmentKind kind = step::SegmentKind::other;
  QRectF swatch, text;
};

struct LaneLayout {
  QRectF title, plot, note;  // plot: all rows, without labels
  std::vector<PlacedLane> lanes;
  std::vector<PlacedSegment> segments;  // visible segments, by lane, then by time
  std::vector<Tick> ticks;
  QString axis;  // the quantity of the axis, with its unit
  std::vector<LegendEntry> legend;
  double height = 0.0;  // height of the whole layout

  // Later segments cover earlier ones; moments cover all. A point slightly beside a moment also hits it.
  std::optional<std::size_t> hit(QPointF) const;  // index into segments
};

// Returns ticks at 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<double> tick_times_s(TimeWindow, int most);

LaneLayout lay_out(const step::StepLanes&, double width, TimeWindow, const LaneMetrics&);

// Returns the kinds that are drawn, in the order of the legend.
std::vector<step::SegmentKind> kinds_of(const step::StepLanes&);

// Returns a window that is `factor` times as long and in which `at_s` has the same relative position. The length is
// limited to 1e-5 to 1 times that of `whole`. A window that would leave `whole` is moved to its edge.
TimeWindow zoomed(TimeWindow, double factor, double at_s, TimeWindow whole);
TimeWindow moved(TimeWindow, double by_s, TimeWindow whole);

}  // namespace ddpprof::gui
