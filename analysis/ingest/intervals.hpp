// Sets of half-open time intervals and their arithmetic, used for compute and exposed communication.
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

// Adds an interval that starts after all others of the set, or within the last one. Drops an empty or reversed one.
void append(IntervalSet&, Interval next);
// Returns the union of intervals in any order. Drops empty and reversed intervals. O(n log n).
IntervalSet unite(std::vector<Interval> any);
// These functions require sets. They take O(|a| + |b|); clip takes O(log |set| + size of the result).
IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
IntervalSet clip(const IntervalSet& set, Interval window);
std::int64_t total_ns(const IntervalSet& set);

}  // namespace ddpprof::ingest
