// Draws the events that are wide enough to be seen one by one: boxes, ticks and labels.
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "gui/timeline/painter.hpp"
#include "gui/timeline/short_name.hpp"

namespace ddpprof::gui {
namespace {

constexpr int most_texts = 20000;  // cached between frames
constexpr int least_outlined_px = 8;
constexpr double least_apart_px = 6.0;  // smallest distance between two instants; closer ones are folded

}  // namespace

void TimelinePainter::event(QPainter& painter, const Scene& scene, std::uint32_t name, double x0, double x1, int y,
                            int height) {
  const auto category = static_cast<std::size_t>(scene.timeline->names.category(name));
  const std::size_t shade = name % 3;
  const int left = std::max(pixel(x0), gutter_ - 1), right = std::min(pixel(x1), scene.width + 1);
  // One pixel between neighbours stays free.
  const int width = right - left > 3 ? right - left - 1 : right - left;
  painter.fillRect(left, y + 1, width, height - 2, fill_[category][shade]);
  if (width >= least_outlined_px && waits_[name])
    draw_hatch(painter, QRect(left, y + 1, width, height - 2), folded_[category][0]);
  const bool outlined =
      scene.matches != nullptr && width >= least_outlined_px && name < scene.matches->size() && (*scene.matches)[name];
  if (outlined) {
    painter.setPen(QPen(palette_.color(QPalette::Text), 2));
    painter.drawRect(left + 1, y + 2, width - 2, height - 4);
  }
  const double edge = outlined ? 6.0 : 3.0;  // distance of a label from the box's sides: an outline needs more, so that
                                             // the first letter is visible
  const double room = width - 2.0 * edge;
  if (room >= least_label_px_) label(painter, scene, name, left + edge, room, y, height, on_fill_[category][shade]);
}

// Draws an instant as a tick with its name. Returns false if it does not fit and must be folded.
bool TimelinePainter::instant(QPainter& painter, const Scene& scene, const timeline::Row& row, std::size_t i, int y,
                              int height) {
  const auto x_of = [&](std::int64_t ns) {
    return gutter_ + scene.axis.x_of(static_cast<double>(ns - scene.timeline->begin_ns));
  };
  const double x = x_of(row.start_ns[i]);
  const double next = i + 1 < row.size() ? x_of(row.start_ns[i + 1]) : x + 1e6;
  if (next - x < least_apart_px || x < gutter_ - 1.0) return false;
  const auto category = static_cast<std::size_t>(scene.timeline->names.category(row.name[i]));
  const int left = pixel(x);
  painter.fillRect(left, y + 1, 2, height - 2, fill_[category][0]);
  painter.fillRect(left - 1, y + 1, 4, 3, fill_[category][0]);
  const double room = std::min(next - x - 8.0, 240.0);
  if (room >= 2.0 * least_label_px_)
    label(painter, scene, row.name[i], left + 5.0, room, y, height, palette_.color(QPalette::Text));
  return true;
}

void TimelinePainter::label(QPainter& painter, const Scene& scene, std::uint32_t name, double x, double room, int y,
                            int height, const QColor& colour) {
  const std::string_view text = short_name(scene.timeline->names.text(name));
  float& advance = advance_[name];
  if (advance < 0.0F)
    advance = static_cast<float>(
        QFontMetricsF(font_).horizontalAdvance(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()))));
  quint32 characters = 0xffffff;  // all
  if (advance > room) {
    const double each = static_cast<double>(advance) / static_cast<double>(std::max<std::size_t>(1, text.size()));
    characters = static_cast<quint32>(std::max(0.0, room / each - 1.5));
    if (characters < 2) return;
  }
  const quint64 key = quint64{name} << 24 | std::min<quint32>(characters, 0xffffff);
  auto found = texts_.find(key);
  if (found == texts_.end()) {
    if (texts_.size() > most_texts) texts_.clear();
    const QString whole = QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
    QStaticText made(characters == 0xffffff ? whole : whole.left(static_cast<int>(characters)) + QChar(0x2026));
    made.setTextFormat(Qt::PlainText);
    made.prepare(QTransform(), font_);
    found = texts_.insert(key, made);
  }
  painter.setPen(colour);
  painter.drawStaticText(QPointF(std::floor(x), y + (height - text_height_) / 2), *found);
}

}  // namespace ddpprof::gui
