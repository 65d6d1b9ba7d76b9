#include "gui/timeline/layout.hpp"

#include <algorithm>
#include <cmath>

namespace ddpprof::gui {

Layout::Layout(const timeline::Timeline& all, const LayoutOptions& options) : line_of_row_(all.rows.size(), -1) {
  int y = 0;
  for (std::uint32_t r = 0; r < all.ranks.size(); ++r) {
    const timeline::Rank& rank = all.ranks[r];
    Line header;
    header.rank = r;
    header.y = y;
    header.height = options.header_height;
    const bool collapsed = r < options.collapsed.size() && options.collapsed[r];
    if (collapsed)
      for (std::uint32_t t = rank.first_track; t < rank.first_track + rank.tracks && !header.has_row; ++t)
        if (all.tracks[t].rows > 0) {
          header.has_row = true;
          header.track = t;
          header.row = all.tracks[t].first_row;
        }
    if (header.has_row) line_of_row_[header.row] = static_cast<std::int32_t>(lines_.size());
    lines_.push_back(header);
    y += header.height;
    if (collapsed) continue;
    for (std::uint32_t t = rank.first_track; t < rank.first_track + rank.tracks; ++t) {
      const timeline::Track& track = all.tracks[t];
      if (track.rows == 0 || (!options.raw && timeline::is_raw(track.kind))) continue;
      for (std::uint32_t row = track.first_row; row < track.first_row + track.rows; ++row) {
        Line line;
        line.what = Line::What::row;
        line.rank = r;
        line.track = t;
        line.row = row;
        line.has_row = true;
        line.first_of_track = row == track.first_row;
        line.y = y;
        line.height = options.row_height;
        line_of_row_[row] = static_cast<std::int32_t>(lines_.size());
        lines_.push_back(line);
        y += line.height;
      }
      y += options.track_gap;
    }
  }
  height_ = y;
}

std::pair<std::size_t, std::size_t> Layout::between(int top, int bottom) const {
  const auto first = std::partition_point(lines_.begin(), lines_.end(),
                                          [top](const Line& line) { return line.y + line.height <= top; });
  const auto last = std::partition_point(first, lines_.end(), [bottom](const Line& line) { return line.y < bottom; });
  return {static_cast<std::size_t>(first - lines_.begin()), static_cast<std::size_t>(last - lines_.begin())};
}

const Line* Layout::at(int y) const {
  const auto [first, last] = between(y, y + 1);
  return first < last ? &lines_[first] : nullptr;
}

const Line* Layout::of_row(std::uint32_t row) const {
  if (row >= line_of_row_.size() || line_of_row_[row] < 0) return nullptr;
  return &lines_[static_cast<std::size_t>(line_of_row_[row])];
}

std::optional<Hit> hit(const timeline::Timeline& all, std::uint32_t row_number, const Axis& axis, double x,
                       double slack_px) {
  const timeline::Row& row = all.rows[row_number];
  const auto absolute = [&](double px) { return all.begin_ns + static_cast<std::int64_t>(std::floor(axis.ns_of(px))); };
  const std::int64_t here_ns = absolute(x);
  const std::size_t at = row.first_touching(here_ns);
  if (at < row.size() && row.start_ns[at] <= here_ns &&
      static_cast<double>(row.duration_ns[at]) >= 2.0 * axis.ns_per_px)
    return Hit{{row_number, static_cast<std::uint32_t>(at)}, static_cast<std::uint32_t>(at), 1};
  const std::size_t first = row.first_touching(absolute(x - slack_px));
  const std::size_t last = row.first_from(absolute(x + slack_px) + 1);
  if (first >= last) return std::nullopt;
  std::size_t longest = first;
  for (std::size_t i = first + 1; i < last; ++i)
    if (row.duration_ns[i] > row.duration_ns[longest]) longest = i;
  return Hit{{row_number, static_cast<std::uint32_t>(longest)},
             static_cast<std::uint32_t>(first),
             static_cast<std::uint32_t>(last - first)};
}

std::size_t folded_with(const timeline::Timeline& all, timeline::EventRef event, const Axis& axis, double slack_px) {
  const timeline::Row& row = all.rows[event.row];
  if (static_cast<double>(row.duration_ns[event.event]) >= 2.0 * axis.ns_per_px) return 1;
  const auto slack_ns = static_cast<std::int64_t>(std::floor(slack_px * axis.ns_per_px));
  const std::int64_t here_ns = row.start_ns[event.event] + row.duration_ns[event.event] / 2;
  return row.first_from(here_ns + slack_ns + 1) - row.first_touching(here_ns - slack_ns);
}

Axis showing_readably(const timeline::Timeline& all, timeline::EventRef event, const Axis& axis, double width) {
  const timeline::Row& row = all.rows[event.row];
  const std::int64_t start_ns = row.start_ns[event.event];
  const double span_ns = static_cast<double>(all.end_ns - all.begin_ns);
  const double begin = static_cast<double>(start_ns - all.begin_ns);
  if (const std::int64_t duration_ns = row.duration_ns[event.event]; duration_ns > 0)
    return readable(axis, begin, begin + static_cast<double>(duration_ns), width, span_ns);
  const std::size_t here = row.first_from(start_ns), next = row.first_from(start_ns + 1);
  std::optional<std::int64_t> gap_ns;
  if (next < row.size()) gap_ns = row.start_ns[next] - start_ns;
  if (here > 0 && row.end_ns(here - 1) < start_ns)
    gap_ns = std::min(gap_ns.value_or(all.end_ns - all.begin_ns), start_ns - row.end_ns(here - 1));
  if (!gap_ns || static_cast<double>(*gap_ns) >= readable_px * axis.ns_per_px)
    return revealing(axis, begin, begin, width, span_ns);
  return readable(axis, begin, begin + static_cast<double>(*gap_ns), width, span_ns);
}

}  // namespace ddpprof::gui
