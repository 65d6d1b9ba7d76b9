// Time to pixel and back, zoom, pan and the ruler's ticks: pure functions, apart from painting and from the widget.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof::gui {

// Times are ns since the timeline's begin (`origin`), as doubles: exact to well below 1 ns for days.
struct Axis {
  double left_ns = 0.0;       // at x = 0
  double ns_per_px = 1000.0;  // > 0
  bool operator==(const Axis&) const = default;

  double x_of(double ns) const { return (ns - left_ns) / ns_per_px; }
  double ns_of(double x) const { return left_ns + x * ns_per_px; }
};

// The pixel that x lies in; far outside of any picture, the nearest that an int can still be reckoned with.
int pixel(double x);

inline constexpr double finest_ns_per_px = 0.05;  // 20 px for a ns
inline constexpr double margin = 0.02;            // of the view, shown before and after all events

// All of [0, span_ns] in `width` pixels, with the margin.
Axis whole(double span_ns, double width);
// The range in the middle, with the margin at both sides.
Axis showing(double begin_ns, double end_ns, double width, double span_ns);
// `factor` > 1 zooms in; the time at x stays at x, unless a limit is met: not finer than finest_ns_per_px, not coarser
// than the whole.
Axis zoomed(const Axis& axis, double x, double factor, double width, double span_ns);
// What lies at x is moved to x + dx; something of the events always stays in view.
Axis panned(const Axis& axis, double dx, double width, double span_ns);
// The least pan that brings [begin_ns, end_ns] into view; its begin where it does not fit.
Axis revealing(const Axis& axis, double begin_ns, double end_ns, double width, double span_ns);
inline constexpr double readable_px = 24.0;  // what is narrower is zoomed in on
inline constexpr double found_share = 0.25;  // of the width, that it takes then
// [begin_ns, end_ns] in view and wide enough to be read: only panned where it is at least readable_px wide and fits;
// else zoomed, in until it takes found_share of the width, out until it fits.
Axis readable(const Axis& axis, double begin_ns, double end_ns, double width, double span_ns);

struct RulerTick {
  double x = 0.0;
  double ns = 0.0;
  std::string label;  // with its unit; "" for a tick between labels
};
// Labels at 1, 2 or 5 · 10^k ns, at least `label_px` apart, four ticks between two of them (three for steps of 2).
std::vector<RulerTick> ruler_ticks(const Axis& axis, double width, double label_px);
// "12.35 ms": with as many decimals as tell neighbours `step_ns` apart.
std::string time_label(double ns, double step_ns);

}  // namespace ddpprof::gui
