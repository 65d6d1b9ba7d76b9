// Where the lanes of a step lie in a picture: rows, segments, axis and legend as rectangles. Pure geometry.
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

// Sizes that come from the font, in layout units.
struct LaneMetrics {
  double line = 14.0;                // height of a line of text
  double character = 7.0;            // mean width
  double spare = 0.0;                // more height for each row than a line needs
  std::size_t label_characters = 0;  // that a label has room for, at least: axes of neighbours lie alike
};

struct PlacedSegment {
  std::size_t lane = 0, segment = 0;
  QRectF rect;  // a moment's is as wide as its mark
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
  std::vector<PlacedSegment> segments;  // those in the window, by lane, then time
  std::vector<Tick> ticks;
  QString axis;  // what the ticks are, with their unit
  std::vector<LegendEntry> legend;
  double height = 0.0;  // needed for all of it

  // Later segments lie over earlier ones, moments over all; a moment is hit a little beside it, too.
  std::optional<std::size_t> hit(QPointF) const;  // index into segments
};

// Ticks at 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<double> tick_times_s(TimeWindow, int most);

LaneLayout lay_out(const step::StepLanes&, double width, TimeWindow, const LaneMetrics&);

// The kinds that are drawn, in the order in which a legend lists them.
std::vector<step::SegmentKind> kinds_of(const step::StepLanes&);

// A window of the same middle, `factor` times as long, kept inside `whole`.
TimeWindow zoomed(TimeWindow, double factor, double at_s, TimeWindow whole);
TimeWindow moved(TimeWindow, double by_s, TimeWindow whole);

}  // namespace ddpprof::gui
