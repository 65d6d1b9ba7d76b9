#include "analysis/timeline/events.hpp"

#include <algorithm>
#include <limits>

namespace ddpprof::timeline {
namespace {

void reserve(Row& row, std::size_t count) {
  row.start_ns.reserve(count);
  row.duration_ns.reserve(count);
  row.name.reserve(count);
  row.argument.reserve(count);
}

void append(Row& row, const Event& event) {
  row.start_ns.push_back(event.start_ns);
  row.duration_ns.push_back(event.duration_ns);
  row.name.push_back(event.name);
  row.argument.push_back(event.argument);
}

bool in_order_and_apart(const std::vector<EventChunks>& parts) {
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();
  bool good = true;
  for (const EventChunks& part : parts)
    part.each([&](const Event& event) {
      good = good && event.start_ns >= last_end_ns;
      last_end_ns = event.end_ns();
    });
  return good;
}

std::vector<Row> rows_of(std::vector<EventChunks> parts, bool below_what_holds_it) {
  std::size_t count = 0;
  for (const EventChunks& part : parts) count += part.size();
  std::vector<Row> rows(1);
  if (in_order_and_apart(parts)) {
    reserve(rows[0], count);
    for (EventChunks& part : parts) {
      part.each([&](const Event& event) { append(rows[0], event); });
      part = {};
    }
    return rows;
  }
  std::vector<Event> events;
  events.reserve(count);
  for (EventChunks& part : parts) {
    part.each([&](const Event& event) { events.push_back(event); });
    part = {};
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  std::vector<std::int64_t> free_at = {std::numeric_limits<std::int64_t>::min()};
  for (const Event& event : events) {
    std::size_t lane = 0;
    if (below_what_holds_it)  // what began before and ends no earlier
      for (std::size_t i = free_at.size(); i > 0 && lane == 0; --i)
        if (free_at[i - 1] > event.start_ns && free_at[i - 1] >= event.end_ns()) lane = i;
    while (lane < free_at.size() && free_at[lane] > event.start_ns) ++lane;
    if (lane == free_at.size()) {
      free_at.push_back(0);
      rows.emplace_back();
    }
    free_at[lane] = event.end_ns();
    append(rows[lane], event);
  }
  return rows;
}

}  // namespace

void EventChunks::grow() {
  capacity_ = chunks_.empty() ? smallest : std::min(capacity_ * 2, largest);
  chunks_.push_back(std::make_unique<Event[]>(capacity_));
  used_ = 0;
}

std::vector<Row> make_rows(std::vector<EventChunks> parts) { return rows_of(std::move(parts), false); }

std::vector<Row> make_nested_rows(std::vector<EventChunks> parts) { return rows_of(std::move(parts), true); }

}  // namespace ddpprof::timeline
