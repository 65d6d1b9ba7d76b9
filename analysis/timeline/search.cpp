#include "analysis/timeline/search.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace ddpprof::timeline {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::vector<bool> matching_names(const Names& names, std::string_view part) {
  std::vector<bool> matches(names.size(), false);
  if (part.empty()) return matches;
  for (std::uint32_t name = 0; name < names.size(); ++name) {
    const std::string& text = names.text(name);
    matches[name] = std::search(text.begin(), text.end(), part.begin(), part.end(),
                                [](char a, char b) { return lower(a) == lower(b); }) != text.end();
  }
  return matches;
}

std::optional<std::vector<EventRef>> search(const Timeline& timeline, std::string_view part,
                                            const std::function<bool()>& cancelled) {
  const std::vector<bool> matches = matching_names(timeline.names, part);
  std::vector<EventRef> hits;
  if (std::find(matches.begin(), matches.end(), true) == matches.end()) return hits;
  const auto next_match = [&](std::uint32_t row, std::size_t from) {
    const std::vector<std::uint32_t>& names = timeline.rows[row].name;
    while (from < names.size() && !matches[names[from]]) ++from;
    return from;
  };
  using Next = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;  // start, row, event
  std::priority_queue<Next, std::vector<Next>, std::greater<>> heads;
  const auto push = [&](std::uint32_t row, std::size_t from) {
    const std::size_t i = next_match(row, from);
    if (i < timeline.rows[row].size())
      heads.emplace(timeline.rows[row].start_ns[i], row, static_cast<std::uint32_t>(i));
  };
  for (std::uint32_t row = 0; row < timeline.rows.size(); ++row) {
    if (cancelled && cancelled()) return std::nullopt;
    push(row, 0);
  }
  while (!heads.empty()) {
    if (hits.size() % 65536 == 0 && cancelled && cancelled()) return std::nullopt;
    const auto [start_ns, row, event] = heads.top();
    heads.pop();
    hits.push_back({row, event});
    push(row, std::size_t{event} + 1);
  }
  return hits;
}

std::size_t first_hit_from(const Timeline& timeline, const std::vector<EventRef>& hits, std::int64_t time_ns) {
  const auto found = std::partition_point(hits.begin(), hits.end(), [&](const EventRef& hit) {
    return timeline.rows[hit.row].start_ns[hit.event] < time_ns;
  });
  return static_cast<std::size_t>(found - hits.begin());
}

}  // namespace ddpprof::timeline
