#include "analysis/import/trace/busy_host.hpp"

#include <algorithm>

namespace ddpprof::import {

std::vector<ingest::Interval> waits_for_collectives(const RankTrace& rank, const std::vector<Collective>& collectives) {
  std::vector<ingest::Interval> waits;  // from the call to the end
  if (rank.host_work.size() == 0) return waits;
  for (const Collective& one : collectives)
    if (one.on_host && one.run) waits.push_back({one.launch_ns, one.run->end_ns});
  std::sort(waits.begin(), waits.end(),
            [](const ingest::Interval& a, const ingest::Interval& b) { return a.end_ns < b.end_ns; });
  auto operations = rank.host_work.cursor();
  const Span* operation = operations.next();
  std::int64_t busy_until_ns = INT64_MIN;
  for (ingest::Interval& wait : waits) {
    for (; operation && operation->start_ns < wait.end_ns; operation = operations.next())
      busy_until_ns = std::max(busy_until_ns, operation->end_ns);
    wait.start_ns = std::max(wait.start_ns, busy_until_ns);
  }
  std::erase_if(waits, [](const ingest::Interval& wait) { return wait.end_ns <= wait.start_ns; });
  return waits;
}

}  // namespace ddpprof::import
