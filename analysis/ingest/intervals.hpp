// Sets of half-open time intervals and their arithmetic: what "compute" and "exposed communication" are made of.
//
// Pure. A set is a vector of disjoint, non-empty, non-touching intervals in ascending order.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::ingest {

struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  // exclusive
  bool operator==(const Interval&) const = default;
};

using IntervalSet = std::vector<Interval>;

// The union of any intervals, in any order; empty and reversed ones are dropped. O(n log n).
IntervalSet unite(std::vector<Interval> any);
// The rest take sets and are O(|a| + |b|); clip is O(log |set| + what it returns).
IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
IntervalSet clip(const IntervalSet& set, Interval window);
std::int64_t total_ns(const IntervalSet& set);

}  // namespace ddpprof::ingest
