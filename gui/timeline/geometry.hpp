// Time to pixel and back, zoom, pan and ruler ticks: pure functions, without painting and without widgets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof::gui {

// Times are ns since the timeline's begin (`origin`), as doubles: exact to far below 1 ns over days.
struct Axis {
  double left_ns = 0.0;       // time at x = 0
  double ns_per_px = 1000.0;  // > 0
  bool operator==(const Axis&) const = default;

  double x_of(double ns) const { return (ns - left_ns) / ns_per_px; }
  double ns_of(double x) const { return left_ns + x * ns_per_px; }
};

// Returns the pixel that contains x, limited to a range in which int arithmetic does not overflow.
int pixel(double x);

inline constexpr double finest_ns_per_px = 0.05;  // 20 px per ns
inline constexpr double margin = 0.02;            // share of the view, shown before and after all events

// Shows all of [0, span_ns] in `width` pixels, with the margin.
Axis whole(double span_ns, double width);
// Shows the range in the middle, with the margin at both sides.
Axis showing(double begin_ns, double end_ns, double width, double span_ns);
// `factor` > 1 zooms in. The time at x stays at x unless a limit is reached: the finest zoom is finest_ns_per_px, the
// coarsest is whole().
Axis zoomed(const Axis& axis, double x, double factor, double width, double span_ns);
// Moves the view so that the time at x is at x + dx. Part of the events always stays in view.
Axis panned(const Axis& axis, double dx, double width, double span_ns);
// Pans as little as needed to bring [begin_ns, end_ns] into view, or its begin if it does not fit.
Axis revealing(const Axis& axis, double begin_ns, double end_ns, double width, double span_ns);
inline constexpr double readable_px = 24.0;  // narrower events are zoomed in
inline constexpr double found_share = 0.25;  // share of the width that a zoomed event takes
// Brings [begin_ns, end_ns] into view and makes it readable. Only pans if it is at least readable_px wide and fits;
// otherwise zooms in until it takes found_share of the width, or out until it fits.
Axis readable(const Axis& axis, double begin_ns, double end_ns, double width, double span_ns);

struct RulerTick {
  double x = 0.0;
  double ns = 0.0;
  std::string label;  // with its unit; "" for a tick without a label
};
// Labels are at 1, 2 or 5 · 10^k ns, at least `label_px` apart. There are four ticks between two labels (three for
// steps of 2).
std::vector<RulerTick> ruler_ticks(const Axis& axis, double width, double label_px);
// "12.35 ms", with enough decimals for labels that are `step_ns` apart.
std::string time_label(double ns, double step_ns);

}  // namespace ddpprof::gui
