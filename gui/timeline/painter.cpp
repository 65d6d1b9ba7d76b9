#include "gui/timeline/painter.hpp"

#include <QFontMetricsF>
#include <QVarLengthArray>
#include <algorithm>
#include <cmath>

#include "gui/plots/focus_frame.hpp"

namespace ddpprof::gui {
namespace {

using timeline::Category;

constexpr double fold_px = 2.0;       // narrower events are folded
constexpr std::uint64_t walked = 16;  // events of one cell that are visited; the others are counted by a search

QColor mixed(const QColor& a, const QColor& b, double share_of_a) {
  const auto mix = [&](int x, int y) { return static_cast<int>(std::lround(share_of_a * x + (1.0 - share_of_a) * y)); };
  return QColor(mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue()));
}

}  // namespace

Colour colour_of(Category category) {
  switch (category) {
    case Category::compute:
    case Category::kernel:
      return Colour::compute;
    case Category::input:
      return Colour::input;
    case Category::copy:
    case Category::memory_copy:
      return Colour::copies;
    case Category::collective:
    case Category::communication_kernel:
    case Category::launch:
      return Colour::exposed;
    case Category::gradient_ready:
      return Colour::skew;
    case Category::cuda_call:
      return Colour::overlapped;
    case Category::unfinished:
      return Colour::error;
    case Category::step:
    case Category::range:
      break;
  }
  return Colour::other;
}

bool is_wait(const timeline::Names& names, std::uint32_t name) {
  const std::string& text = names.text(name);
  if (names.category(name) == Category::cuda_call) return text.find("Synchronize") != std::string::npos;
  return names.category(name) == Category::input && text.find("wait") != std::string::npos;
}

void draw_hatch(QPainter& painter, const QRect& box, const QColor& line) {
  constexpr int apart_px = 6;
  QVarLengthArray<QLine, 256> lines;
  // Multiples of the distance, so that the lines of neighbours continue each other.
  for (int x = (box.left() - box.height()) / apart_px * apart_px; x <= box.right(); x += apart_px) {
    const int from = std::max(x, box.left()), to = std::min(x + box.height() - 1, box.right());
    if (to > from) lines.append(QLine(from, box.bottom() - (from - x), to, box.bottom() - (to - x)));
  }
  painter.setPen(line);
  painter.drawLines(lines.constData(), static_cast<int>(lines.size()));
}

// One drawn piece of a row: an event, or a block of a coarser level.
struct TimelinePainter::Entry {
  double x0, x1;
  double busy_px;
  std::uint64_t count;
  std::uint32_t name;  // name of its longest event
};

// Cells of 2 px with folded events. Equal neighbours are joined into one rectangle.
struct TimelinePainter::Run {
  const timeline::Names& names;
  int cell = 0;  // the present cell
  std::uint64_t count = 0;
  double busy_px = 0.0, longest_px = -1.0;
  std::size_t category = 0;
  double carried_px = 0.0;  // busy time that continues in the next cell
  int from = 0, to = 0;     // cells of the finished run: [from, to)
  std::size_t run_category = 0, run_shade = 0;
  int stretch_from = 0, stretch_to = 0;  // cells without a gap between them, of any shade
  std::uint64_t stretch_count = 0;
};

void TimelinePainter::set_style(const QPalette& palette, const QFont& font) {
  palette_ = palette;
  font_ = font;
  const QFontMetricsF metrics(font);
  text_height_ = static_cast<int>(std::ceil(metrics.height()));
  row_height_ = text_height_ + 2;
  header_height_ = text_height_ + 7;
  ruler_ = 2 * text_height_ + 4;
  gutter_ = static_cast<int>(metrics.averageCharWidth() * 27.0);
  ascent_ = metrics.ascent();
  count_advance_ = metrics.horizontalAdvance(QLatin1Char('0')) * 1.02;
  least_label_px_ = metrics.averageCharWidth() * 3.5;
  const QColor base = palette.color(QPalette::Base);
  for (std::size_t c = 0; c < timeline::category_count; ++c) {
    const QColor plain = colour(colour_of(static_cast<Category>(c)), palette);
    fill_[c] = {plain, mixed(plain, base, 0.82), mixed(plain, base, 0.66)};
    for (std::size_t i = 0; i < 3; ++i) on_fill_[c][i] = readable_on(fill_[c][i]);
    folded_[c] = {mixed(plain, base, 0.3), mixed(plain, base, 0.5), mixed(plain, base, 0.72), plain};
  }
  forget_names();
}

void TimelinePainter::forget_names() {
  advance_.clear();
  waits_.clear();
  texts_.clear();
}

void TimelinePainter::paint(QPainter& painter, const Scene& scene) {
  painter.setFont(font_);
  painter.fillRect(0, 0, scene.width, scene.height, palette_.color(QPalette::Base));
  if (scene.timeline != nullptr && scene.layout != nullptr) {
    painter.save();
    painter.setClipRect(gutter_, ruler_, scene.width - gutter_, scene.height - ruler_);
    rows(painter, scene);
    waits(painter, scene);
    range(painter, scene);
    if (scene.flows) flows(painter, scene);
    focus(painter, scene);
    painter.restore();
    labels(painter, scene);
    time_ruler(painter, scene);
  }
  if (scene.has_focus) draw_focus_frame(painter, QRectF(0, 0, scene.width, scene.height), palette_);
}

void TimelinePainter::rows(QPainter& painter, const Scene& scene) {
  const timeline::Names& names = scene.timeline->names;
  if (advance_.size() != names.size()) {
    advance_.assign(names.size(), -1.0F);
    waits_.resize(names.size());
    for (std::uint32_t name = 0; name < names.size(); ++name) waits_[name] = is_wait(names, name);
  }
  const auto [first, last] = scene.layout->between(scene.scroll_y, scene.scroll_y + scene.height - ruler_);
  const QColor band = palette_.color(QPalette::AlternateBase), head = palette_.color(QPalette::Button);
  for (std::size_t i = first; i < last; ++i) {
    const Line& line = scene.layout->lines()[i];
    const int y = line.y - scene.scroll_y + ruler_;
    if (line.what == Line::What::header)
      painter.fillRect(gutter_, y, scene.width - gutter_, line.height, head);
    else if ((line.track & 1U) != 0)
      painter.fillRect(gutter_, y, scene.width - gutter_, line.height, band);
    if (line.has_row) row(painter, scene, scene.timeline->rows[line.row], y, line.height);
  }
}

void TimelinePainter::row(QPainter& painter, const Scene& scene, const timeline::Row& row, int y, int height) {
  const std::int64_t left_ns = scene.timeline->begin_ns + static_cast<std::int64_t>(std::floor(scene.axis.left_ns));
  const double scale = 1.0 / scene.axis.ns_per_px;
  const auto x_of = [&](std::int64_t ns) {
    return gutter_ + (static_cast<double>(ns - scene.timeline->begin_ns) - scene.axis.left_ns) * scale;
  };
  if (const timeline::Level* level = timeline::level_for(row, scene.axis.ns_per_px)) {
    walk(
        painter, scene, row, timeline::first_touching(*level, left_ns), level->blocks.size(),
        [&](std::size_t i) {
          const timeline::Block& block = level->blocks[i];
          return Entry{x_of(block.start_ns), x_of(block.end_ns), static_cast<double>(block.busy_ns) * scale,
                       timeline::count_of(row, *level, i), row.name[block.longest]};
        },
        [&](std::size_t i) { return i < level->blocks.size() ? std::size_t{level->blocks[i].first} : row.size(); }, y,
        height);
    return;
  }
  walk(
      painter, scene, row, row.first_touching(left_ns), row.size(),
      [&](std::size_t i) {
        return Entry{x_of(row.start_ns[i]), x_of(row.end_ns(i)), static_cast<double>(row.duration_ns[i]) * scale, 1,
                     row.name[i]};
      },
      [](std::size_t i) { return i; }, y, height);
}

// `at(i)` returns the i-th of `count` entries; `events_before(i)` returns the number of events in the row before it.
template <class At, class EventsBefore>
void TimelinePainter::walk(QPainter& painter, const Scene& scene, const timeline::Row& row, std::size_t first,
                           std::size_t count, At at, EventsBefore events_before, int y, int height) {
  Run run{scene.timeline->names};
  std::uint64_t looked_at = 0;  // in the present cell
  for (std::size_t i = first; i < count;) {
    const Entry entry = at(i);
    if (entry.x0 >= scene.width) break;
    if (entry.count == 1 && entry.x1 - entry.x0 >= fold_px) {
      flush_run(painter, run, y, height);
      event(painter, scene, entry.name, entry.x0, entry.x1, y, height);
      ++i;
      continue;
    }
    if (count == row.size() && entry.busy_px <= 0.0 && instant(painter, scene, row, i, y, height)) {
      ++i;
      continue;
    }
    const bool same_cell = run.count > 0 && pixel(entry.x0 / fold_px) == run.cell;
    looked_at = same_cell ? looked_at + 1 : 0;
    add(painter, run, entry, entry.count, y, height);
    ++i;
    if (looked_at < walked) continue;
    // Too many entries for one cell: count the rest of the cell by a search and assume that it is like the visited
    // part.
    const double cell_end = (run.cell + 1) * fold_px;
    std::size_t low = i, step = 1;
    while (low + step < count && at(low + step).x0 < cell_end) {
      low += step;
      step *= 2;
    }
    std::size_t high = std::min(low + step, count);
    while (low < high) {
      const std::size_t mid = low + (high - low) / 2;
      if (at(mid).x0 < cell_end)
        low = mid + 1;
      else
        high = mid;
    }
    // Only the last entry of the cell can extend far out of it: draw that one by itself.
    if (low > i) {
      const Entry last = at(low - 1);
      if (last.count == 1 && last.x1 - last.x0 >= fold_px) --low;
    }
    run.busy_px *= static_cast<double>(low - i + walked) / static_cast<double>(walked);
    run.count += events_before(low) - events_before(i);
    i = low;
  }
  flush_run(painter, run, y, height);
}

void TimelinePainter::add(QPainter& painter, Run& run, const Entry& entry, std::uint64_t events, int y, int height) {
  const int cell = pixel(std::max(entry.x0, static_cast<double>(gutter_) - fold_px) / fold_px);
  if (run.count > 0 && cell != run.cell) {
    flush_cell(painter, run, y, height);
    if (cell != run.cell + 1) run.busy_px = 0.0;
  }
  run.cell = cell;
  run.count += events;
  const double rest = entry.x1 - (cell + 1) * fold_px;
  const double beyond_px = rest > 0.0 ? entry.busy_px * std::min(1.0, rest / (entry.x1 - entry.x0)) : 0.0;
  run.busy_px += entry.busy_px - beyond_px;
  run.carried_px += beyond_px;
  if (entry.busy_px > run.longest_px) {
    run.longest_px = entry.busy_px;
    run.category = static_cast<std::size_t>(run.names.category(entry.name));
  }
}

void TimelinePainter::flush_cell(QPainter& painter, Run& run, int y, int height) {
  if (run.count == 0) return;
  const bool goes_on = run.cell == run.stretch_to && run.stretch_count > 0;
  if (!goes_on) {
    name_stretch(painter, run, y, height);
    run.stretch_from = run.cell;
    run.stretch_count = 0;
  }
  run.stretch_to = run.cell + 1;
  run.stretch_count += run.count;
  const double busy = run.busy_px / fold_px;
  const std::size_t by_time = busy > 0.75 ? 3 : busy > 0.5 ? 2 : busy > 0.25 ? 1 : 0;
  const std::size_t by_count = run.count > 2 ? 2 : 1;  // a single short event must still be visible
  const std::size_t shade = std::max(by_time, by_count);
  if (run.to > run.from && (run.cell != run.to || run.run_shade != shade || run.run_category != run.category)) {
    painter.fillRect(run.from * 2, y + 1, (run.to - run.from) * 2, height - 2,
                     folded_[run.run_category][run.run_shade]);
    run.from = run.to = run.cell;
  }
  if (run.to == run.from) run.from = run.cell;
  run.to = run.cell + 1;
  run.run_shade = shade;
  run.run_category = run.category;
  run.count = 0;
  run.busy_px = run.carried_px;
  run.carried_px = 0.0;
  run.longest_px = -1.0;
}

void TimelinePainter::flush_run(QPainter& painter, Run& run, int y, int height) {
  flush_cell(painter, run, y, height);
  if (run.to > run.from)
    painter.fillRect(run.from * 2, y + 1, (run.to - run.from) * 2, height - 2,
                     folded_[run.run_category][run.run_shade]);
  name_stretch(painter, run, y, height);
  run.from = run.to = 0;
  run.busy_px = run.carried_px = 0.0;
  run.stretch_count = 0;
}

// Writes the number of events folded into a range of pixels without a gap, if there is room for the text.
void TimelinePainter::name_stretch(QPainter& painter, const Run& run, int y, int height) const {
  const double width = (run.stretch_to - run.stretch_from) * fold_px;
  if (run.stretch_count < 2 || width < 6.0 * least_label_px_) return;
  const QString text = QStringLiteral("%L1 events").arg(run.stretch_count);
  const double room = count_advance_ * static_cast<double>(text.size()) + 6.0;
  if (room > width) return;
  const QRectF box(std::max(run.stretch_from * fold_px, static_cast<double>(gutter_)) + 2.0, y + 2, room, height - 4);
  painter.fillRect(box, palette_.color(QPalette::Base));
  painter.setPen(palette_.color(QPalette::Text));
  painter.drawText(QPointF(box.x() + 3.0, y + (height - text_height_) / 2 + ascent_), text);
}

}  // namespace ddpprof::gui
