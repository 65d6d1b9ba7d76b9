#include "analysis/import/trace/sharding/sharded_training.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/import/trace/sharding/unit_names.hpp"
#include "analysis/import/trace/sharding/unit_segments.hpp"
#include "analysis/import/trace/sharding/unmarked_units.hpp"

namespace ddpprof::import {
namespace {

bool outer_first(const Span& a, const Span& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
}

// Adds up what overlaps given collectives. Work must come in order of its start.
class Overlaps {
 public:
  explicit Overlaps(std::vector<UnitWork*> collectives) : collectives_(std::move(collectives)) {
    std::sort(collectives_.begin(), collectives_.end(),
              [](const UnitWork* a, const UnitWork* b) { return outer_first(a->time, b->time); });
    hidden_ns_.resize(collectives_.size());
  }

  // Returns the part of the work that no earlier work covers.
  Span add(Span work, std::size_t unit) {
    work.start_ns = std::max(work.start_ns, covered_until_ns_);
    if (work.end_ns <= work.start_ns) return {work.start_ns, work.start_ns};
    covered_until_ns_ = work.end_ns;
    while (first_ < collectives_.size() && collectives_[first_]->time.end_ns <= work.start_ns) ++first_;
    for (std::size_t i = first_; i < collectives_.size() && collectives_[i]->time.start_ns < work.end_ns; ++i) {
      const Span& time = collectives_[i]->time;
      const std::int64_t both_ns = std::min(time.end_ns, work.end_ns) - std::max(time.start_ns, work.start_ns);
      if (both_ns > 0) hidden_ns_[i][unit] += both_ns;
    }
    return work;
  }

  void finish() {
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
      UnitWork& collective = *collectives_[i];
      collective.exposed_ns = collective.time.end_ns - collective.time.start_ns;
      std::int64_t most_ns = 0;
      for (const auto& [unit, hidden_ns] : hidden_ns_[i]) {
        collective.exposed_ns -= hidden_ns;
        if (hidden_ns > most_ns) collective.hidden_by = unit;
        most_ns = std::max(most_ns, hidden_ns);
      }
    }
  }

 private:
  std::vector<UnitWork*> collectives_;
  std::vector<std::map<std::size_t, std::int64_t>> hidden_ns_;  // by unit
  std::size_t first_ = 0;                                       // the first collective that work may still overlap
  std::int64_t covered_until_ns_ = INT64_MIN;
};

class Builder {
 public:
  Builder(const RankTrace& rank, bool sharded, const std::vector<const HostStep*>& steps,
          const std::vector<Collective>& collectives, const std::vector<ingest::Interval>& waits)
      : rank_(rank), steps_(steps), all_(collectives), waits_(ingest::unite(waits)), marks_(rank.sharding) {
    result_.annotated = !marks_.empty();
    if (marks_.empty() && sharded) marks_ = unmarked_units(rank, steps, collectives);
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const ShardingMark& a, const ShardingMark& b) { return outer_first(a.time, b.time); });
  }

  ShardedTraining run() {
    if (marks_.empty()) return {};
    number_nameless_units(marks_, steps_);
    segments_ = unit_segments(marks_, steps_);
    number_units();
    add_collectives();
    add_work();
    describe_units();
    std::stable_sort(result_.work.begin(), result_.work.end(), [](const UnitWork& a, const UnitWork& b) {
      return std::pair(a.step, a.time.start_ns) < std::pair(b.step, b.time.start_ns);
    });
    return std::move(result_);
  }

 private:
  void number_units() {
    unit(0);  // the root
    for (const ShardingMark& mark : marks_)
      if (mark.action == ShardingAction::pre_forward && step_at(mark.time.start_ns)) unit(mark.unit);
    for (const ShardingMark& mark : marks_)
      if (!mark.nameless) unit(mark.unit);
  }

  std::size_t unit(std::uint32_t name) {
    const auto [found, fresh] = numbers_.emplace(name, result_.units.size());
    if (fresh) {
      result_.units.emplace_back();
      result_.units.back().name = unit_name(rank_.names, name);
      result_.units.back().root = name == 0;
    }
    return found->second;
  }

  const HostStep* step_at(std::int64_t time_ns) const {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), time_ns,
                                        [](std::int64_t t, const HostStep* step) { return t < step->time.start_ns; });
    if (after == steps_.begin()) return nullptr;
    const HostStep* step = *std::prev(after);
    return time_ns < step->time.end_ns ? step : nullptr;
  }

  const UnitSegment* segment_at(std::int64_t time_ns) const {
    const auto after =
        std::upper_bound(segments_.begin(), segments_.end(), time_ns,
                         [](std::int64_t t, const UnitSegment& segment) { return t < segment.time.start_ns; });
    if (after == segments_.begin()) return nullptr;
    const UnitSegment& segment = *std::prev(after);
    return time_ns < segment.time.end_ns ? &segment : nullptr;
  }

  // Returns the innermost mark around a moment of a thread for which `wanted` is true.
  template <class Wanted>
  const ShardingMark* mark_around(std::int64_t time_ns, std::int64_t tid, Wanted wanted) const {
    const auto after =
        std::upper_bound(marks_.begin(), marks_.end(), time_ns,
                         [](std::int64_t t, const ShardingMark& mark) { return t < mark.time.start_ns; });
    // Marks nest a few levels deep: the searched one is near.
    constexpr std::ptrdiff_t most_between = 64;
    for (auto at = after; at != marks_.begin() && after - at < most_between;) {
      --at;
      if (at->tid == tid && time_ns < at->time.end_ns && wanted(*at)) return &*at;
    }
    return nullptr;
  }

  void add_collectives() {
    for (const Collective& collective : all_) {
      const CollectiveCall* call = collective.call ? &rank_.calls[*collective.call] : nullptr;
      const std::int64_t called_ns = call ? call->time.start_ns : collective.launch_ns;
      const HostStep* step = step_at(called_ns);
      const bool sharding = collective.op == CollectiveOp::all_gather || collective.op == CollectiveOp::reduce_scatter;
      if (!step || !collective.run || (!sharding && collective.op != CollectiveOp::all_reduce)) continue;
      const ShardingMark* mark = !call ? nullptr : mark_around(called_ns, call->tid, [&](const ShardingMark& one) {
        const bool reduces = one.action == ShardingAction::reduce, gathers = gathers_inside(one);
        return collective.op == CollectiveOp::all_gather ? gathers : reduces;
      });
      if (!mark || !fits(*mark, collective)) {
        result_.unassigned += sharding ? 1 : 0;
        continue;
      }
      UnitWork work;
      work.step = step->number;
      work.unit = unit(mark->unit);
      work.action = collective.op == CollectiveOp::all_gather       ? UnitAction::all_gather
                    : collective.op == CollectiveOp::reduce_scatter ? UnitAction::reduce_scatter
                                                                    : UnitAction::all_reduce;
      if (const UnitSegment* segment = segment_at(called_ns)) {
        work.backward = segment->backward;
        work.micro_batch = segment->micro_batch;
      }
      work.launch_ns = collective.launch_ns;
      work.time = *collective.run;
      work.bytes = collective.bytes;
      work.prefetched = mark_around(called_ns, call->tid, [](const ShardingMark& one) {
                          return one.action == ShardingAction::prefetch;
                        }) != nullptr;
      see(collective, result_.units[work.unit]);
      result_.work.push_back(work);
    }
  }

  static bool gathers_inside(const ShardingMark& mark) {
    return mark.action == ShardingAction::all_gather ||
           (mark.nameless && (mark.action == ShardingAction::pre_forward ||
                              mark.action == ShardingAction::pre_backward || mark.action == ShardingAction::prefetch));
  }

  // A nameless unit is found by its place in the order. The order is wrong if the sizes contradict it.
  bool fits(const ShardingMark& mark, const Collective& collective) const {
    if (!mark.nameless) return true;
    const auto number = numbers_.find(mark.unit);
    if (number == numbers_.end()) return false;
    const ShardedUnit& unit = result_.units[number->second];
    if (collective.op == CollectiveOp::reduce_scatter && unit.gathered_bytes == 0) return collective.bytes == 0;
    if (unit.gathered_bytes == 0 || unit.gathered_element_bytes == 0 || collective.element_bytes == 0 ||
        collective.op == CollectiveOp::all_reduce)
      return true;
    return collective.bytes / collective.element_bytes == unit.gathered_bytes / unit.gathered_element_bytes;
  }

  static void see(const Collective& collective, ShardedUnit& unit) {
    if (collective.op == CollectiveOp::all_reduce) return;
    const bool gather = collective.op == CollectiveOp::all_gather;
    std::int64_t& bytes = gather ? unit.gathered_bytes : unit.scattered_bytes;
    bytes = std::max(bytes, collective.bytes);
    (gather ? unit.gathered_element_bytes : unit.scattered_element_bytes) = collective.element_bytes;
    unit.ranks = std::max(unit.ranks, collective.group_size);
    if (!gather && collective.executed == CollectiveOp::all_reduce) unit.scatters_by_all_reduce = true;
  }

  // Adds the work of each unit in each pass. On devices work belongs to the segment in which the host launched it.
  void add_work() {
    using Key = std::tuple<std::int64_t, std::int64_t, bool, std::size_t, bool>;
    std::map<Key, UnitWork> sums;
    std::vector<UnitWork*> collectives;
    for (UnitWork& work : result_.work) collectives.push_back(&work);
    Overlaps overlaps(std::move(collectives));
    const auto add = [&](const UnitSegment& segment, const Span& time) {
      const std::size_t owner = unit(segment.unit);
      const Span own = overlaps.add(time, owner);
      if (own.end_ns <= own.start_ns) return;
      const auto [found, fresh] =
          sums.try_emplace({segment.step, segment.micro_batch, segment.backward, owner, segment.copy});
      UnitWork& work = found->second;
      if (fresh) {
        work.step = segment.step;
        work.unit = owner;
        work.action = segment.copy ? UnitAction::copy : UnitAction::compute;
        work.backward = segment.backward;
        work.micro_batch = segment.micro_batch;
        work.time = own;
      }
      work.time.end_ns = std::max(work.time.end_ns, own.end_ns);
      work.busy_ns += own.end_ns - own.start_ns;
    };
    if (rank_.slices.size() > 0) {
      rank_.slices.for_each([&](const Slice& slice) {
        if (slice.work != Work::compute) return;
        if (const UnitSegment* segment = segment_at(slice.launch_ns)) add(*segment, {slice.start_ns, slice.end_ns});
      });
    } else {
      for (const UnitSegment& segment : segments_) {
        const ingest::Interval time{segment.time.start_ns, segment.time.end_ns};
        for (const ingest::Interval& busy : ingest::subtract({time}, ingest::clip(waits_, time)))
          add(segment, {busy.start_ns, busy.end_ns});
      }
    }
    overlaps.finish();
    for (const auto& [key, work] : sums) result_.work.push_back(work);
  }

  void describe_units() {
    for (const UnitGradients& gradients : rank_.unit_gradients) {
      const ShardingMark* mark = mark_around(
          gradients.at_ns, gradients.tid, [](const ShardingMark& one) { return one.action == ShardingAction::reduce; });
      if (mark) result_.units[unit(mark->unit)].parameters = gradients.elements;
    }
    // A unit gathers again if at least half of its backwards do.
    for (std::size_t i = 0; i < result_.units.size(); ++i) {
      std::int64_t backwards = 0, again = 0;
      for (const UnitWork& work : result_.work) {
        if (!work.backward) continue;
        // Without annotations all compute is the root's.
        const bool computes = work.action == UnitAction::compute && work.unit == (result_.annotated ? i : 0);
        backwards += computes ? 1 : 0;
        again += work.action == UnitAction::all_gather && work.unit == i ? 1 : 0;
      }
      if (result_.units[i].gathered_bytes > 0 && backwards > 0) result_.units[i].gathers_again = 2 * again >= backwards;
    }
  }

  const RankTrace& rank_;
  const std::vector<const HostStep*>& steps_;
  const std::vector<Collective>& all_;
  ingest::IntervalSet waits_;
  std::vector<ShardingMark> marks_;  // by start, outer marks first
  std::vector<UnitSegment> segments_;
  std::map<std::uint32_t, std::size_t> numbers_;  // of units, by the number of their name
  ShardedTraining result_;
};

}  // namespace

ShardedTraining sharded_training(const RankTrace& rank, bool sharded, const std::vector<const HostStep*>& steps,
                                 const std::vector<Collective>& collectives,
                                 const std::vector<ingest::Interval>& waits) {
  return Builder(rank, sharded, steps, collectives, waits).run();
}

}  // namespace ddpprof::import
