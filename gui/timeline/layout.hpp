// Which line is where: rank headers, and a line for each row of the tracks that are shown. Pure.
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
  std::uint32_t row = 0;        // of a header: the rank's row of steps, drawn in it while it is collapsed
  bool first_of_track = false;  // has the track's label
  bool has_row = false;
  int y = 0, height = 0;
};

struct LayoutOptions {
  int header_height = 22, row_height = 16, track_gap = 3;
  bool raw = true;              // tracks of raw events
  std::vector<bool> collapsed;  // by rank; missing ones are open
};

class Layout {
 public:
  Layout() = default;
  Layout(const timeline::Timeline&, const LayoutOptions&);

  const std::vector<Line>& lines() const { return lines_; }
  int height() const { return height_; }
  // The lines that touch [top, bottom), as indices.
  std::pair<std::size_t, std::size_t> between(int top, int bottom) const;
  const Line* at(int y) const;
  const Line* of_row(std::uint32_t row) const;  // null while it is hidden

 private:
  std::vector<Line> lines_;
  std::vector<std::int32_t> line_of_row_;  // -1: hidden
  int height_ = 0;
};

// What lies at a point of a row: one event, or several that are narrower than a pixel there.
struct Hit {
  timeline::EventRef event;  // the longest of them, the first of equals
  std::uint32_t first = 0;   // of `row`
  std::uint32_t count = 0;   // events folded there; 1 for one that can be told apart
};
// Within `slack_px` to both sides; a wide event at the point itself wins over its neighbours.
std::optional<Hit> hit(const timeline::Timeline&, std::uint32_t row, const Axis&, double x, double slack_px = 2.0);
// How many events of its row are folded where `event` is drawn, itself among them; 1 when it can be told apart.
std::size_t folded_with(const timeline::Timeline&, timeline::EventRef event, const Axis&, double slack_px = 2.0);

// The view nearest to `axis` in which `event` can be told apart and read: as readable() has it for its duration; for an
// instant, which has none, the way to its nearest neighbour at another time has to be wide enough.
Axis showing_readably(const timeline::Timeline&, timeline::EventRef event, const Axis& axis, double width);

}  // namespace ddpprof::gui
