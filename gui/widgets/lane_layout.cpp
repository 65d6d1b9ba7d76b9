#include "gui/widgets/lane_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

using step::SegmentKind;

constexpr std::array legend_order = {SegmentKind::data,       SegmentKind::forward,      SegmentKind::backward,
                                     SegmentKind::optimizer,  SegmentKind::own_copy,     SegmentKind::copies,
                                     SegmentKind::overlapped, SegmentKind::exposed,      SegmentKind::skew,
                                     SegmentKind::other,      SegmentKind::not_modelled, SegmentKind::gradient,
                                     SegmentKind::launch};

constexpr double margin = 6.0;
constexpr double moment_width = 5.0;
constexpr double moment_reach = 4.0;  // distance in which a click beside a moment still hits it

}  // namespace

std::vector<double> tick_times_s(TimeWindow window, int most) {
  std::vector<double> ticks;
  if (!(window.length_s() > 0.0) || most < 1) return ticks;
  double unit_s = std::pow(10.0, std::floor(std::log10(window.length_s() / most)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (window.length_s() / (unit_s * factor) > most) continue;
    unit_s *= factor;
    break;
  }
  const double first = std::ceil(window.begin_s / unit_s - 1e-9);
  for (double i = first; i * unit_s <= window.end_s + 1e-9 * unit_s; ++i) ticks.push_back(i * unit_s);
  return ticks;
}

std::vector<SegmentKind> kinds_of(const step::StepLanes& lanes) {
  std::vector<SegmentKind> kinds;
  for (const SegmentKind kind : legend_order) {
    const bool drawn = std::any_of(lanes.lanes.begin(), lanes.lanes.end(), [&](const step::Lane& lane) {
      return std::any_of(lane.segments.begin(), lane.segments.end(),
                         [&](const step::Segment& segment) { return segment.kind == kind; });
    });
    if (drawn) kinds.push_back(kind);
  }
  return kinds;
}

LaneLayout lay_out(const step::StepLanes& lanes, double width, TimeWindow window, const LaneMetrics& metrics) {
  LaneLayout out;
  const double row = metrics.line + 6.0 + metrics.spare, gap = 3.0;
  out.title = {margin, margin, width - 2.0 * margin, metrics.line};
  std::size_t longest = metrics.label_characters;
  for (const step::Lane& lane : lanes.lanes)
    longest = std::max(longest, static_cast<std::size_t>(QString::fromStdString(lane.name).size()));
  const double label_width = std::min(0.3 * width, static_cast<double>(longest) * metrics.character + 2.0 * margin);
  const double left = margin + label_width, right = std::max(left + 1.0, width - 2.0 * margin);
  double y = out.title.bottom() + margin;
  const double top = y;
  const double scale = window.length_s() > 0.0 ? (right - left) / window.length_s() : 0.0;
  for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
    out.lanes.push_back({{margin, y, label_width - margin, row}, {left, y, right - left, row}});
    for (std::size_t j = 0; j < lanes.lanes[i].segments.size(); ++j) {
      const step::Segment& segment = lanes.lanes[i].segments[j];
      const double begin = left + (segment.begin_s - window.begin_s) * scale;
      const double end = left + (segment.end_s - window.begin_s) * scale;
      if (end < left || begin > right) continue;
      const double visible_begin = std::max(begin, left), visible_end = std::min(end, right);
      if (is_moment(segment.kind))
        out.segments.push_back({i, j, {begin - 0.5 * moment_width, y, moment_width, row}});
      else if (visible_end > visible_begin)
        out.segments.push_back({i, j, {visible_begin, y, visible_end - visible_begin, row}});
    }
    y += row + gap;
  }
  out.plot = {left, top, right - left, std::max(0.0, y - gap - top)};
  y += margin;

  const std::vector<double> times_s = tick_times_s(window, std::max(2, static_cast<int>((right - left) / 90.0)));
  const units::Scale unit = units::choose_scale("s", times_s);
  for (const double time_s : times_s)
    out.ticks.push_back({left + (time_s - window.begin_s) * scale,
                         QString::number(std::abs(time_s) < 1e-15 ? 0.0 : time_s / unit.factor, 'g', 6)});
  out.axis = QStringLiteral("time since the start of the step [%1]").arg(QString::fromStdString(unit.unit));
  y += 2.0 * metrics.line + margin;

  double x = margin;
  for (const SegmentKind kind : kinds_of(lanes)) {
    const double text_width = static_cast<double>(to_string(kind).size()) * metrics.character + margin;
    const double entry = metrics.line + margin + text_width + 2.0 * margin;
    if (x > margin && x + entry > width - margin) {
      x = margin;
      y += metrics.line + gap;
    }
    out.legend.push_back({kind,
                          {x, y + 2.0, metrics.line - 4.0, metrics.line - 4.0},
                          {x + metrics.line + 2.0, y, text_width, metrics.line}});
    x += entry;
  }
  if (!out.legend.empty()) y += metrics.line + margin;
  if (!lanes.note.empty()) {
    const double characters = static_cast<double>(lanes.note.size()) * metrics.character;
    const double lines = std::ceil(characters / std::max(1.0, width - 2.0 * margin));
    out.note = {margin, y, width - 2.0 * margin, lines * metrics.line};
    y += lines * metrics.line + margin;
  }
  out.height = y;
  return out;
}

std::optional<std::size_t> LaneLayout::hit(QPointF point) const {
  std::optional<std::size_t> found;
  double nearest = moment_reach + 0.5 * moment_width;
  bool moment_found = false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const QRectF& rect = segments[i].rect;
    if (point.y() < rect.top() || point.y() > rect.bottom()) continue;
    const double beside = std::abs(point.x() - rect.center().x());
    const bool moment = rect.width() == moment_width;
    if (moment && beside <= nearest) {
      nearest = beside;
      found = i;
      moment_found = true;
    } else if (!moment_found && point.x() >= rect.left() && point.x() <= rect.right()) {
      found = i;
    }
  }
  return found;
}

TimeWindow zoomed(TimeWindow window, double factor, double at_s, TimeWindow whole) {
  const double length_s = std::clamp(window.length_s() * factor, 1e-5 * whole.length_s(), whole.length_s());
  const double share = window.length_s() > 0.0 ? (at_s - window.begin_s) / window.length_s() : 0.5;
  const double begin_s = std::clamp(at_s - share * length_s, whole.begin_s, whole.end_s - length_s);
  return {begin_s, begin_s + length_s};
}

TimeWindow moved(TimeWindow window, double by_s, TimeWindow whole) {
  const double begin_s =
      std::clamp(window.begin_s + by_s, whole.begin_s, std::max(whole.begin_s, whole.end_s - window.length_s()));
  return {begin_s, begin_s + window.length_s()};
}

}  // namespace ddpprof::gui
