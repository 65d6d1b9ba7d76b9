// Selecting a range of time: by dragging, or by moving one end with the keys.
#include <algorithm>

#include "gui/timeline/timeline_view.hpp"

namespace ddpprof::gui {
namespace {

constexpr double range_share = 0.02;  // of the view, for a key

// Returns the nearest begin or end of an event of the row, after (by > 0) or before a time.
std::optional<std::int64_t> next_edge(const timeline::Row& row, std::int64_t from_ns, int by) {
  if (by > 0) {
    const std::size_t later = row.first_from(from_ns + 1);
    if (later > 0 && row.end_ns(later - 1) > from_ns) return row.end_ns(later - 1);
    return later < row.size() ? std::optional(row.start_ns[later]) : std::nullopt;
  }
  const std::size_t here = row.first_from(from_ns);
  if (here == 0) return std::nullopt;
  return row.end_ns(here - 1) < from_ns ? row.end_ns(here - 1) : row.start_ns[here - 1];
}

}  // namespace

void TimelineView::choose_range(double from_ns, double to_ns) {
  const auto [from, to] = std::minmax(from_ns, to_ns);
  range_ = std::pair(absolute(from), std::max(absolute(to), absolute(from) + 1));
  range_end_moves_ = true;
  viewport()->update();
  emit range_chosen(range_->first, range_->second);
}

// Without a range, starts one at the focused event, or else in the middle of the view.
std::pair<std::int64_t, std::int64_t> TimelineView::range_ends() const {
  if (range_) return range_end_moves_ ? *range_ : std::pair(range_->second, range_->first);
  const std::int64_t from_ns =
      focus_ ? timeline_->rows[focus_->row].start_ns[focus_->event] : absolute(axis_.ns_of(area_width() / 2.0));
  return {from_ns, from_ns};
}

// Moves the end that the keys control and brings it into view. The other end stays, even if the two change order.
void TimelineView::move_range_end(std::int64_t to_ns) {
  const std::int64_t stays_ns = range_ends().first;
  const std::int64_t moves_ns = std::clamp(to_ns, timeline_->begin_ns, timeline_->end_ns);
  const double at = since_begin(moves_ns);
  set_axis(revealing(axis_, at, at, area_width(), span_ns()));
  moved_ = axis_ != whole(span_ns(), area_width());
  choose_range(since_begin(stays_ns), at);
  range_end_moves_ = moves_ns >= stays_ns;
}

bool TimelineView::range_key(int key, bool by_event) {
  switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
      const int by = key == Qt::Key_Right ? 1 : -1;
      const std::int64_t at_ns = range_ends().second;
      if (!by_event) {
        const double way_ns = std::max(1.0, range_share * area_width() * axis_.ns_per_px);
        move_range_end(absolute(since_begin(at_ns) + by * way_ns));
      } else if (focus_in_view()) {
        if (const auto edge_ns = next_edge(timeline_->rows[focus_->row], at_ns, by)) move_range_end(*edge_ns);
      }
      return true;
    }
    case Qt::Key_Home:
      move_range_end(timeline_->begin_ns);
      return true;
    case Qt::Key_End:
      move_range_end(timeline_->end_ns);
      return true;
    default:
      return false;
  }
}

}  // namespace ddpprof::gui
