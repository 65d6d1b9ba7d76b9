// Paints the lanes of a step according to their layout, in the colours of the palette.
#pragma once

#include <QPalette>
#include <optional>

#include "gui/plots/colours.hpp"
#include "gui/widgets/lane_layout.hpp"

class QPainter;

namespace ddpprof::gui {

Colour colour_of(step::SegmentKind);

struct LanePicture {
  const step::StepLanes& lanes;
  const LaneLayout& layout;
  QString title;
  std::optional<std::size_t> focused;  // index into the layout's segments
};

void paint_lanes(QPainter&, const LanePicture&, const QPalette&);

}  // namespace ddpprof::gui
