#include "analysis/import/trace/busy_host.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace ddpprof::import {
namespace {

// Spans by thread.
class ThreadSpans {
 public:
  void add(std::int64_t tid, const Span& span) { spans_[tid].push_back(span); }
  void finish() {
    for (auto& [tid, spans] : spans_) std::sort(spans.begin(), spans.end(), SpanByStart{});
  }
  // Returns true if the operation is inside of the last span of its thread that began before it.
  bool around(const HostOperation& operation) const {
    const std::vector<Span>& spans = of(operation.tid);
    const auto after = std::upper_bound(spans.begin(), spans.end(), operation.time, SpanByStart{});
    return after != spans.begin() && operation.time.end_ns <= std::prev(after)->end_ns;
  }
  // Returns true if the first span of its thread that begins in the operation ends in it.
  bool inside(const HostOperation& operation) const {
    const std::vector<Span>& spans = of(operation.tid);
    const auto first = std::lower_bound(spans.begin(), spans.end(), operation.time, SpanByStart{});
    return first != spans.end() && first->end_ns <= operation.time.end_ns;
  }

 private:
  const std::vector<Span>& of(std::int64_t tid) const {
    static const std::vector<Span> none;
    const auto found = spans_.find(tid);
    return found == spans_.end() ? none : found->second;
  }
  std::map<std::int64_t, std::vector<Span>> spans_;
};

// Selects the operations in which a thread computes. These are not: operations of a backend's thread that executes a
// collective (Gloo copies and divides tensors), and operations that call a collective, because they may wait for it.
class ComputingOperations {
 public:
  explicit ComputingOperations(const RankTrace& rank) {
    std::set<std::int64_t> callers;
    for (const CollectiveCall& call : rank.calls) {
      callers.insert(call.tid);
      if (call.mark != CollectiveMark::annotation) calls_.add(call.tid, call.time);
    }
    // Sends and receives of Gloo are recorded on the calling thread, which may compute until it waits for them.
    for (const CollectiveRun& run : rank.runs)
      if (run.on_host && !callers.contains(run.tid)) runs_.add(run.tid, run.time);
    runs_.finish();
    calls_.finish();
  }
  bool contain(const HostOperation& operation) const { return !runs_.around(operation) && !calls_.inside(operation); }

 private:
  ThreadSpans runs_, calls_;
};

}  // namespace

std::vector<ingest::Interval> waits_for_collectives(const RankTrace& rank, const std::vector<Collective>& collectives) {
  std::vector<ingest::Interval> waits;  // from the call to the end
  if (rank.host_work.size() == 0) return waits;
  for (const Collective& one : collectives)
    if (one.on_host && one.run) waits.push_back({one.launch_ns, one.run->end_ns});
  std::sort(waits.begin(), waits.end(),
            [](const ingest::Interval& a, const ingest::Interval& b) { return a.end_ns < b.end_ns; });
  const ComputingOperations computing(rank);
  auto operations = rank.host_work.cursor();
  const HostOperation* operation = operations.next();
  std::int64_t busy_until_ns = INT64_MIN;
  for (ingest::Interval& wait : waits) {
    for (; operation && operation->time.start_ns < wait.end_ns; operation = operations.next())
      if (computing.contain(*operation)) busy_until_ns = std::max(busy_until_ns, operation->time.end_ns);
    wait.start_ns = std::max(wait.start_ns, busy_until_ns);
  }
  std::erase_if(waits, [](const ingest::Interval& wait) { return wait.end_ns <= wait.start_ns; });
  return waits;
}

}  // namespace ddpprof::import
