// The tooltip: text about the event under the mouse.
#include <QHelpEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "analysis/timeline/details.hpp"
#include "gui/timeline/timeline_view.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

QString quantity(double value, const char* unit) { return QString::fromStdString(units::format_quantity(value, unit)); }

}  // namespace

std::optional<Hit> TimelineView::hit_at(const QPoint& point) const {
  if (!timeline_ || point.x() < painter_.gutter() || point.y() < painter_.ruler()) return std::nullopt;
  const Line* line = layout_.at(point.y() - painter_.ruler() + verticalScrollBar()->value());
  if (line == nullptr || !line->has_row) return std::nullopt;
  return hit(*timeline_, line->row, axis_, point.x() - painter_.gutter());
}

QString TimelineView::text_at(const QPoint& point) const {
  const std::optional<Hit> found = hit_at(point);
  if (!found) {
    if (!timeline_ || point.y() < painter_.ruler() || point.x() >= painter_.gutter()) return {};
    const Line* line = layout_.at(point.y() - painter_.ruler() + verticalScrollBar()->value());
    if (line == nullptr) return {};
    const QString rank = QString::fromStdString(timeline_->ranks[line->rank].title());
    return line->what == Line::What::header ? tr("%1\nclick to collapse or expand").arg(rank)
                                            : rank + "\n" + QString::fromStdString(timeline_->tracks[line->track].name);
  }
  const timeline::Row& row = timeline_->rows[found->event.row];
  const timeline::Track& track = timeline_->tracks[row.track];
  const timeline::Event event = row.at(found->event.event);
  QStringList lines;
  const QString name = QString::fromStdString(timeline_->names.text(event.name));
  if (found->count > 1) {
    std::int64_t busy_ns = 0;
    for (std::uint32_t i = found->first; i < found->first + found->count; ++i) busy_ns += row.duration_ns[i];
    lines << tr("%n events folded here, total time %1; zoom in to see them", nullptr, static_cast<int>(found->count))
                 .arg(quantity(static_cast<double>(busy_ns) * 1e-9, "s"))
          << tr("longest: %1").arg(name);
  } else {
    lines << name;
  }
  lines << tr("%1 · %2").arg(QString::fromStdString(timeline_->ranks[track.rank].title()),
                             QString::fromStdString(track.name));
  if (event.duration_ns > 0)
    lines << tr("duration %1").arg(quantity(static_cast<double>(event.duration_ns) * 1e-9, "s"));
  lines << tr("start %1")
               .arg(QString::fromStdString(time_label(since_begin(event.start_ns), std::max(1.0, axis_.ns_per_px))));
  if (const auto bytes = timeline::bytes_of(*timeline_, found->event))
    lines << tr("size %1").arg(QString::fromStdString(units::format_bytes(*bytes)));
  return lines.join('\n');
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = text_at(help->pos());
    text.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), text, viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace ddpprof::gui
