// What a thread shows of spans that lie over each other. Internal to the report library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/lanes/recorded_step.hpp"
#include "analysis/metrics/lanes/step_lanes.hpp"

namespace ddpprof::metrics {

// What a thread does, as a layer of paint: where two lie over each other the higher one shows, of equals the later.
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

// What shows of the window, in order of time; neighbours of one layer are one slice.
std::vector<Slice> paint(const std::vector<Layer>& layers, Span window);

}  // namespace ddpprof::metrics
