#include "analysis/ingest/intervals.hpp"

#include <algorithm>

namespace ddpprof::ingest {

void append(IntervalSet& set, Interval next) {
  if (next.end_ns <= next.start_ns) return;
  if (!set.empty() && next.start_ns <= set.back().end_ns)
    set.back().end_ns = std::max(set.back().end_ns, next.end_ns);
  else
    set.push_back(next);
}

IntervalSet unite(std::vector<Interval> any) {
  std::sort(any.begin(), any.end(), [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  IntervalSet set;
  for (const Interval& interval : any) append(set, interval);
  return set;
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet set;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool take_a = j == b.size() || (i < a.size() && a[i].start_ns <= b[j].start_ns);
    append(set, take_a ? a[i++] : b[j++]);
  }
  return set;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet set;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    append(set, {std::max(a[i].start_ns, b[j].start_ns), std::min(a[i].end_ns, b[j].end_ns)});
    a[i].end_ns < b[j].end_ns ? ++i : ++j;
  }
  return set;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet set;
  std::size_t j = 0;
  for (Interval rest : a) {
    while (j < b.size() && b[j].end_ns <= rest.start_ns) ++j;
    for (std::size_t k = j; k < b.size() && b[k].start_ns < rest.end_ns; ++k) {
      append(set, {rest.start_ns, b[k].start_ns});
      rest.start_ns = std::max(rest.start_ns, b[k].end_ns);
      j = k;  // it may overlap the next interval of `a`
    }
    append(set, rest);
  }
  return set;
}

IntervalSet clip(const IntervalSet& set, Interval window) {
  const auto ends_after = [](std::int64_t time_ns, const Interval& interval) { return time_ns < interval.end_ns; };
  IntervalSet out;
  for (auto it = std::upper_bound(set.begin(), set.end(), window.start_ns, ends_after);
       it != set.end() && it->start_ns < window.end_ns; ++it)
    append(out, {std::max(it->start_ns, window.start_ns), std::min(it->end_ns, window.end_ns)});
  return out;
}

std::int64_t total_ns(const IntervalSet& set) {
  std::int64_t total = 0;
  for (const Interval& interval : set) total += interval.end_ns - interval.start_ns;
  return total;
}

}  // namespace ddpprof::ingest
