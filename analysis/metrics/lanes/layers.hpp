// Overlapping spans of a thread, reduced to the visible ones. Internal to analysis/metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/lanes/recorded_step.hpp"
#include "analysis/metrics/lanes/step_lanes.hpp"

namespace ddpprof::metrics {

// A span with a height. Where spans overlap, the higher one is visible. Ties go to the one that starts later, then to
// the later one in the list.
struct Layer {
  Span time;
  std::string name;
  step::SegmentKind kind = step::SegmentKind::other;
  int height = 0;
  std::optional<std::int64_t> bytes;
};

struct Slice {
  Span time;
  std::string name;
  step::SegmentKind kind = step::SegmentKind::other;
  std::optional<std::int64_t> bytes;
  std::size_t layer = 0;
};

// Returns the visible parts within the window, in order of time. Two adjacent parts are one slice in two cases: both
// are of one layer, or both have the same name and kind and the later one has no bytes. `Slice::layer` is the index of
// the first part's layer.
std::vector<Slice> paint(const std::vector<Layer>& layers, Span window);

}  // namespace ddpprof::metrics
