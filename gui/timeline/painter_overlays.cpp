// Draws what is on top of the events and around them: range, flow lines, focus, labels at the left, ruler at the top.
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "analysis/timeline/flows.hpp"
#include "analysis/timeline/search.hpp"
#include "gui/timeline/painter.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

constexpr double flow_apart_px = 18.0;  // if flow lines are closer, only the one of the focused event is drawn

double since_begin(const Scene& scene, std::int64_t ns) { return static_cast<double>(ns - scene.timeline->begin_ns); }

}  // namespace

void TimelinePainter::range(QPainter& painter, const Scene& scene) const {
  if (!scene.range) return;
  const double x0 = std::max(gutter_ + scene.axis.x_of(scene.range->first), gutter_ - 2.0);
  const double x1 = std::min(gutter_ + scene.axis.x_of(scene.range->second), scene.width + 2.0);
  if (x1 < x0) return;
  QColor wash = palette_.color(QPalette::Highlight);
  const QColor edge = wash;
  wash.setAlpha(56);
  painter.fillRect(QRectF(x0, ruler_, x1 - x0, scene.height - ruler_), wash);
  painter.fillRect(pixel(x0), ruler_, 1, scene.height - ruler_, edge);
  painter.fillRect(pixel(x1), ruler_, 1, scene.height - ruler_, edge);
}

void TimelinePainter::flows(QPainter& painter, const Scene& scene) const {
  const timeline::Timeline& all = *scene.timeline;
  const double right_ns = scene.axis.ns_of(scene.width - gutter_);
  const auto most = static_cast<std::size_t>(std::max(0, scene.width - gutter_) / flow_apart_px);
  const auto groups =
      timeline::groups_touching(all, all.begin_ns + static_cast<std::int64_t>(std::floor(scene.axis.left_ns)),
                                all.begin_ns + static_cast<std::int64_t>(std::ceil(right_ns)), most);
  // Thin lines are drawn without antialiasing, because Qt fills antialiased lines span by span in other threads.
  if (groups)
    for (const std::uint32_t g : *groups) flow(painter, scene, all.groups[g], false);
  if (scene.focus)
    if (const auto chosen = timeline::group_of(all, *scene.focus)) flow(painter, scene, all.groups[*chosen], true);
}

// Hatches each collective from its start to the last start among its ranks.
void TimelinePainter::waits(QPainter& painter, const Scene& scene) const {
  constexpr int least_hatched_px = 4;
  const timeline::Timeline& all = *scene.timeline;
  const double right_ns = scene.axis.ns_of(scene.width - gutter_);
  const auto most = static_cast<std::size_t>(std::max(0, scene.width - gutter_) / least_hatched_px);
  const auto groups =
      timeline::groups_touching(all, all.begin_ns + static_cast<std::int64_t>(std::floor(scene.axis.left_ns)),
                                all.begin_ns + static_cast<std::int64_t>(std::ceil(right_ns)), most);
  if (!groups) return;
  QColor hatch = folded_[static_cast<std::size_t>(timeline::Category::collective)][0];
  hatch.setAlpha(160);  // the label below must stay readable
  for (const std::uint32_t g : *groups) {
    const timeline::FlowFacts facts = timeline::flow_facts(all, all.groups[g]);
    if (!facts.slowest) continue;
    const double last = gutter_ + scene.axis.x_of(since_begin(scene, *all.collectives[*facts.slowest].start_ns));
    for (const std::uint32_t member : all.groups[g].members) {
      const timeline::Collective& c = all.collectives[member];
      const Line* line = c.start_ns ? scene.layout->of_row(c.row) : nullptr;
      if (line == nullptr) continue;
      const std::int64_t end_ns = all.rows[c.row].end_ns(c.event);
      const int left = std::max(pixel(gutter_ + scene.axis.x_of(since_begin(scene, *c.start_ns))), gutter_);
      const int right =
          std::min({pixel(last), scene.width, pixel(gutter_ + scene.axis.x_of(since_begin(scene, end_ns)))});
      if (right - left < least_hatched_px) continue;
      const int y = line->y - scene.scroll_y + ruler_;
      draw_hatch(painter, QRect(left, y + 1, right - left, line->height - 2), hatch);
    }
  }
}

// A line through the starts on all ranks that started, from top to bottom. The last start is marked.
void TimelinePainter::flow(QPainter& painter, const Scene& scene, const timeline::Group& group, bool chosen) const {
  const timeline::Timeline& all = *scene.timeline;
  if (group.members.size() < 2) return;
  const timeline::FlowFacts facts = timeline::flow_facts(all, group);
  struct Point {
    QPointF at;
    std::uint32_t member;
  };
  std::vector<Point> points;
  points.reserve(group.members.size());
  for (const std::uint32_t member : group.members) {
    const timeline::Collective& c = all.collectives[member];
    if (!c.start_ns) continue;
    const Line* line = scene.layout->of_row(c.row);
    if (line == nullptr) {  // collapsed: use the rank's header
      const timeline::Rank& rank = all.ranks[c.rank];
      line = rank.tracks > 0 ? scene.layout->of_row(all.tracks[rank.first_track].first_row) : nullptr;
    }
    if (line == nullptr) continue;
    points.push_back({{gutter_ + scene.axis.x_of(since_begin(scene, *c.start_ns)),
                       static_cast<double>(line->y - scene.scroll_y + ruler_) + line->height / 2.0},
                      member});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.at.y() < b.at.y(); });
  QColor ink = palette_.color(QPalette::Text);
  ink.setAlpha(chosen ? 255 : 110);
  painter.setPen(QPen(ink, chosen ? 2.0 : 1.0));
  for (std::size_t i = 1; i < points.size(); ++i) painter.drawLine(points[i - 1].at, points[i].at);
  if (!facts.slowest) return;
  for (const auto& [tip, member] : points) {
    if (member != *facts.slowest) continue;
    const double r = chosen ? 6.0 : 4.0;
    const QPointF corners[] = {tip, tip + QPointF(-r, -r), tip + QPointF(-r, r)};
    painter.setBrush(colour(Colour::skew, palette_));
    painter.setRenderHint(QPainter::Antialiasing, chosen);
    painter.drawPolygon(corners, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    if (!chosen) continue;
    const QString text =
        QStringLiteral("last to start, +%1")
            .arg(QString::fromStdString(units::format_quantity(static_cast<double>(facts.skew_ns) * 1e-9, "s")));
    const QRectF box(tip.x() - QFontMetricsF(font_).horizontalAdvance(text) - 14.0, tip.y() - text_height_ / 2.0,
                     QFontMetricsF(font_).horizontalAdvance(text) + 6.0, text_height_);
    painter.fillRect(box, palette_.color(QPalette::ToolTipBase));
    painter.setPen(palette_.color(QPalette::ToolTipText));
    painter.drawText(box, Qt::AlignCenter, text);
  }
}

void TimelinePainter::focus(QPainter& painter, const Scene& scene) const {
  if (!scene.focus) return;
  const Line* line = scene.layout->of_row(scene.focus->row);
  if (line == nullptr) return;
  const timeline::Event event = scene.timeline->rows[scene.focus->row].at(scene.focus->event);
  const double x0 = gutter_ + scene.axis.x_of(since_begin(scene, event.start_ns));
  const double x1 = gutter_ + scene.axis.x_of(since_begin(scene, event.end_ns()));
  const int left = std::clamp(pixel(x0), gutter_ - 4, scene.width + 4);
  const int right = std::clamp(std::max(pixel(x1), left + 4), gutter_ - 4, scene.width + 4);
  const int y = line->y - scene.scroll_y + ruler_;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(palette_.color(QPalette::Base), 4));
  painter.drawRect(left, y + 1, right - left - 1, line->height - 3);
  painter.setPen(QPen(palette_.color(scene.has_focus ? QPalette::Highlight : QPalette::Text), 2));
  painter.drawRect(left, y + 1, right - left - 1, line->height - 3);
  if (!scene.has_focus) return;
  const std::size_t folded = folded_with(*scene.timeline, *scene.focus, scene.axis);
  if (folded < 2) return;
  // The same information as in the tooltip.
  const QString text = QStringLiteral("one of %L1 folded here").arg(folded);
  const double width = QFontMetricsF(font_).horizontalAdvance(text) + 6.0;
  const double x = right + 4.0 + width <= scene.width ? right + 4.0 : left - 4.0 - width;
  const QRectF box(x, y, width, line->height);
  painter.fillRect(box, palette_.color(QPalette::ToolTipBase));
  painter.setPen(palette_.color(QPalette::ToolTipText));
  painter.drawText(box, Qt::AlignCenter, text);
}

void TimelinePainter::labels(QPainter& painter, const Scene& scene) const {
  painter.fillRect(0, ruler_, gutter_, scene.height - ruler_, palette_.color(QPalette::Window));
  painter.save();
  painter.setClipRect(0, ruler_, scene.width, scene.height - ruler_);
  const QFontMetricsF metrics(font_);
  const auto [first, last] = scene.layout->between(scene.scroll_y, scene.scroll_y + scene.height - ruler_);
  for (std::size_t i = first; i < last; ++i) {
    const Line& line = scene.layout->lines()[i];
    const int y = line.y - scene.scroll_y + ruler_;
    const timeline::Rank& rank = scene.timeline->ranks[line.rank];
    if (line.what == Line::What::header) {
      painter.fillRect(0, y, gutter_, line.height, palette_.color(QPalette::Button));
      painter.setPen(palette_.color(QPalette::ButtonText));
      QFont bold = font_;
      bold.setBold(true);
      painter.setFont(bold);
      const QString arrow = line.has_row ? QStringLiteral("▸ ") : QStringLiteral("▾ ");
      painter.drawText(
          QRectF(6.0, y, gutter_ - 8.0, line.height), Qt::AlignVCenter | Qt::AlignLeft,
          QFontMetricsF(bold).elidedText(arrow + QString::fromStdString(rank.title()), Qt::ElideRight, gutter_ - 10.0));
      painter.setFont(font_);
      continue;
    }
    painter.setPen(palette_.color(QPalette::WindowText));
    const timeline::Track& track = scene.timeline->tracks[line.track];
    const QString text = line.first_of_track ? QString::fromStdString(track.name)
                         : track.kind == timeline::TrackKind::steps && line.row == track.first_row + 1
                             ? QStringLiteral("phases")
                             : QString();
    if (!text.isEmpty())
      painter.drawText(QRectF(20.0, y, gutter_ - 24.0, line.height), Qt::AlignVCenter | Qt::AlignLeft,
                       metrics.elidedText(text, Qt::ElideRight, gutter_ - 26.0));
  }
  painter.restore();
  painter.fillRect(gutter_ - 1, ruler_, 1, scene.height - ruler_, palette_.color(QPalette::Mid));
}

void TimelinePainter::time_ruler(QPainter& painter, const Scene& scene) const {
  painter.fillRect(0, 0, scene.width, ruler_, palette_.color(QPalette::Window));
  painter.setPen(palette_.color(QPalette::WindowText));
  painter.drawText(QRectF(6.0, 0.0, gutter_ - 10.0, text_height_ + 2.0), Qt::AlignVCenter | Qt::AlignLeft,
                   QStringLiteral("time since first event"));
  painter.save();
  painter.setClipRect(gutter_, 0, scene.width - gutter_, scene.height);
  const QFontMetricsF metrics(font_);
  QColor line = palette_.color(QPalette::Text);
  line.setAlpha(22);
  for (const RulerTick& tick : ruler_ticks(scene.axis, scene.width - gutter_, metrics.averageCharWidth() * 16.0)) {
    const int x = gutter_ + pixel(tick.x);
    const bool named = !tick.label.empty();
    painter.fillRect(x, ruler_ - (named ? 9 : 5), 1, named ? 9 : 5, palette_.color(QPalette::WindowText));
    if (!named) continue;
    painter.fillRect(x, ruler_, 1, scene.height - ruler_, line);
    painter.drawText(QPointF(x + 3.0, metrics.ascent() + 2.0), QString::fromStdString(tick.label));
  }
  if (scene.hits != nullptr) {
    // At most one mark for every second pixel.
    const std::vector<timeline::EventRef>& hits = *scene.hits;
    const timeline::Timeline& all = *scene.timeline;
    const auto absolute = [&](double x) {
      return all.begin_ns + static_cast<std::int64_t>(std::ceil(scene.axis.ns_of(x)));
    };
    const QColor mark = palette_.color(QPalette::Highlight);
    std::size_t i = timeline::first_hit_from(all, hits, absolute(0.0));
    while (i < hits.size()) {
      const double x = scene.axis.x_of(since_begin(scene, all.rows[hits[i].row].start_ns[hits[i].event]));
      if (x > scene.width - gutter_) break;
      painter.fillRect(gutter_ + pixel(x), text_height_ + 3, 2, ruler_ - text_height_ - 5, mark);
      const std::size_t next = timeline::first_hit_from(all, hits, absolute(x + 2.0));
      i = std::max(next, i + 1);
    }
  }
  painter.restore();
  painter.fillRect(0, ruler_ - 1, scene.width, 1, palette_.color(QPalette::Mid));
}

}  // namespace ddpprof::gui
