#include "gui/timeline/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ddpprof::gui {
namespace {

double coarsest(double width, double span_ns) {
  return std::max(finest_ns_per_px, std::max(span_ns, 1.0) / (std::max(width, 1.0) * (1.0 - 2.0 * margin)));
}

constexpr double most_px = 1e8;

// Limits the view to the events plus the margin at each end.
Axis limited(Axis axis, double width, double span_ns) {
  axis.ns_per_px = std::clamp(axis.ns_per_px, finest_ns_per_px, coarsest(width, span_ns));
  const double view_ns = width * axis.ns_per_px;
  const double edge_ns = margin * view_ns;
  if (view_ns * (1.0 + 1e-9) >= span_ns + 2.0 * edge_ns)  // true if the whole range fits, except for rounding
    axis.left_ns = -(view_ns - span_ns) / 2.0;
  else
    axis.left_ns = std::clamp(axis.left_ns, -edge_ns, span_ns + edge_ns - view_ns);
  return axis;
}

}  // namespace

int pixel(double x) { return static_cast<int>(std::floor(std::clamp(x, -most_px, most_px))); }

Axis whole(double span_ns, double width) { return limited({0.0, coarsest(width, span_ns)}, width, span_ns); }

Axis showing(double begin_ns, double end_ns, double width, double span_ns) {
  const double usable_px = std::max(width, 1.0) * (1.0 - 2.0 * margin);
  Axis axis;
  axis.ns_per_px = std::clamp(std::max(end_ns - begin_ns, 1.0) / usable_px, finest_ns_per_px, coarsest(width, span_ns));
  axis.left_ns = (begin_ns + end_ns) / 2.0 - width * axis.ns_per_px / 2.0;
  return limited(axis, width, span_ns);
}

Axis zoomed(const Axis& axis, double x, double factor, double width, double span_ns) {
  Axis out;
  out.ns_per_px = std::clamp(axis.ns_per_px / factor, finest_ns_per_px, coarsest(width, span_ns));
  out.left_ns = axis.ns_of(x) - x * out.ns_per_px;
  return limited(out, width, span_ns);
}

Axis panned(const Axis& axis, double dx, double width, double span_ns) {
  return limited({axis.left_ns - dx * axis.ns_per_px, axis.ns_per_px}, width, span_ns);
}

Axis revealing(const Axis& axis, double begin_ns, double end_ns, double width, double span_ns) {
  const double view_ns = width * axis.ns_per_px, edge_ns = margin * view_ns;
  Axis out = axis;
  if (begin_ns < axis.left_ns + edge_ns || end_ns - begin_ns > view_ns - 2.0 * edge_ns)
    out.left_ns = begin_ns - edge_ns;
  else if (end_ns > axis.left_ns + view_ns - edge_ns)
    out.left_ns = end_ns - view_ns + edge_ns;
  return limited(out, width, span_ns);
}

Axis readable(const Axis& axis, double begin_ns, double end_ns, double width, double span_ns) {
  const double px = (end_ns - begin_ns) / axis.ns_per_px;
  if (px > width * (1.0 - 2.0 * margin)) return showing(begin_ns, end_ns, width, span_ns);
  if (px >= readable_px) return revealing(axis, begin_ns, end_ns, width, span_ns);
  const double beside_ns = 0.5 * (1.0 / found_share - 1.0) * std::max(end_ns - begin_ns, 1.0);
  return showing(begin_ns - beside_ns, end_ns + beside_ns, width, span_ns);
}

std::string time_label(double ns, double step_ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  constexpr Unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1.0, "ns"}};
  // The unit follows the number's size, so that 12.345 ms is not shown as 12345 µs. For zero it follows the step.
  const double magnitude = std::fabs(ns) >= step_ns / 2.0 ? std::fabs(ns) : step_ns;
  const Unit* unit = &units[3];
  for (const Unit& candidate : units)
    if (magnitude >= candidate.ns * (1.0 - 1e-9)) {
      unit = &candidate;
      break;
    }
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step_ns / unit->ns) - 1e-9)), 0, 11);
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, std::fabs(ns) < step_ns / 2.0 ? 0.0 : ns / unit->ns);
  return std::string(text) + " " + unit->name;
}

std::vector<RulerTick> ruler_ticks(const Axis& axis, double width, double label_px) {
  std::vector<RulerTick> out;
  const double least_ns = label_px * axis.ns_per_px;
  const double power = std::pow(10.0, std::floor(std::log10(least_ns)));
  double step_ns = 10.0 * power;
  int parts = 5;
  for (const auto& [multiple, between] : {std::pair(1.0, 5), std::pair(2.0, 4), std::pair(5.0, 5)})
    if (multiple * power >= least_ns) {
      step_ns = multiple * power;
      parts = between;
      break;
    }
  const double part_ns = step_ns / parts;
  const auto first = static_cast<std::int64_t>(std::ceil(axis.left_ns / part_ns));
  const auto last = static_cast<std::int64_t>(std::floor(axis.ns_of(width) / part_ns));
  for (std::int64_t i = first; i <= last; ++i) {
    RulerTick tick;
    tick.ns = static_cast<double>(i) * part_ns;
    tick.x = axis.x_of(tick.ns);
    if (i % parts == 0) tick.label = time_label(tick.ns, step_ns);
    out.push_back(std::move(tick));
  }
  return out;
}

}  // namespace ddpprof::gui
