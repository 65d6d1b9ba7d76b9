// The vertical layout of a timeline: rank headers, and one line for each row of the visible tracks. Pure geometry.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/timeline/tracks.hpp"
#include "gui/timeline/geometry.hpp"

namespace ddpprof::gui {

struct Line {
  enum class What : std::uint8_t { header, row } what = What::header;
  std::uint32_t rank = 0, track = 0;
  std::uint32_t row = 0;  // for a header: the rank's row of steps, drawn in the header while the rank is collapsed
  bool first_of_track = false;  // this line shows the track's label
  bool has_row = false;
  int y = 0, height = 0;
};

struct LayoutOptions {
  int header_height = 22, row_height = 16, track_gap = 3;
  bool raw = true;              // show tracks of raw events
  std::vector<bool> collapsed;  // by rank; missing entries are expanded
};

class Layout {
 public:
  Layout() = default;
  Layout(const timeline::Timeline&, const LayoutOptions&);

  const std::vector<Line>& lines() const { return lines_; }
  int height() const { return height_; }
  // Returns the lines that touch [top, bottom), as a range of indices.
  std::pair<std::size_t, std::size_t> between(int top, int bottom) const;
  const Line* at(int y) const;
  const Line* of_row(std::uint32_t row) const;  // null if the row is hidden

 private:
  std::vector<Line> lines_;
  std::vector<std::int32_t> line_of_row_;  // -1: hidden
  int height_ = 0;
};

// The events at a point of a row: one event, or several that share less than a pixel.
struct Hit {
  timeline::EventRef event;  // the longest of them; ties go to the first
  std::uint32_t first = 0;   // index of the first event in `row`
  std::uint32_t count = 0;   // number of folded events; 1 for an event that is drawn by itself
};
// Looks within `slack_px` on both sides. A wide event at the point has priority over its neighbours.
std::optional<Hit> hit(const timeline::Timeline&, std::uint32_t row, const Axis&, double x, double slack_px = 2.0);
// Returns how many events of its row are folded where `event` is drawn, including it; 1 if it is drawn by itself.
std::size_t folded_with(const timeline::Timeline&, timeline::EventRef event, const Axis&, double slack_px = 2.0);

// Returns the view nearest to `axis` in which `event` is drawn by itself and is readable. For an event with a duration
// as readable(); for an instant, the distance to the nearest event at another time is made wide enough.
Axis showing_readably(const timeline::Timeline&, timeline::EventRef event, const Axis& axis, double width);

}  // namespace ddpprof::gui
