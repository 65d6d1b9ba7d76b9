#include "analysis/import/trace/phase_tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

constexpr std::array<std::string_view, call_phases> phase_names = {"forward", "backward", "beside both"};
constexpr std::array<std::string_view, collective_ops> op_names = {
    "all-reduce", "broadcast", "all-gather", "reduce-scatter", "barrier", "send", "receive", "all-to-all", "other"};

struct Place {
  CallPhase phase = CallPhase::beside;
  std::size_t step = 0;
  bool first_forward = false;
};

// Returns none if the time is not inside a step.
std::optional<Place> place_of(const std::vector<HostStep>& steps, std::int64_t moment_ns) {
  if (steps.empty()) return Place{};
  const auto after = std::upper_bound(steps.begin(), steps.end(), moment_ns,
                                      [](std::int64_t t, const HostStep& s) { return t < s.time.start_ns; });
  if (after == steps.begin()) return std::nullopt;
  const HostStep& step = *std::prev(after);
  if (moment_ns >= step.time.end_ns) return std::nullopt;
  const auto number = static_cast<std::size_t>(std::distance(steps.begin(), after)) - 1;
  for (const Pass& pass : step.passes) {
    if (pass.backward.start_ns <= moment_ns && moment_ns < pass.backward.end_ns)
      return Place{CallPhase::backward, number, false};
    if (pass.forward.start_ns <= moment_ns && moment_ns < pass.forward.end_ns)
      return Place{CallPhase::forward, number, &pass == &step.passes.front()};
  }
  return Place{CallPhase::beside, number, false};
}

// Returns the phase of the work that an annotation of FSDP is around; none if the annotation does not show it.
std::optional<CallPhase> phase_of(ShardingAction action) {
  switch (action) {
    case ShardingAction::root_pre_forward:
    case ShardingAction::pre_forward:
    case ShardingAction::post_forward:
      return CallPhase::forward;
    case ShardingAction::pre_backward:
    case ShardingAction::post_backward:
    case ShardingAction::reduce:
      return CallPhase::backward;
    case ShardingAction::all_gather:
    case ShardingAction::prefetch:
    case ShardingAction::other:
      break;
  }
  return std::nullopt;
}

}  // namespace

void PhaseTally::Count::add(const Count& other) {
  count += other.count;
  bytes = sum_of(bytes, other.bytes);
  unsized += other.unsized;
  in_first_forwards += other.in_first_forwards;
  durations_ns.insert(durations_ns.end(), other.durations_ns.begin(), other.durations_ns.end());
  steps.insert(other.steps.begin(), other.steps.end());
}

PhaseTally::PhaseTally(const RankTrace& rank, const std::vector<HostStep>& steps,
                       const std::vector<Collective>& collectives)
    : steps_(steps) {
  for (const ShardingMark& mark : rank.sharding)
    if (const auto phase = phase_of(mark.action)) marks_.push_back({mark.time, *phase});
  std::ranges::sort(marks_, {}, [](const Marked& mark) { return mark.time.start_ns; });
  for (const HostStep& step : steps)
    if (step.has_backward() && !first_backward_ns_) first_backward_ns_ = step.passes.front().backward.start_ns;
  for (const Collective& one : collectives) add(ran_, one.op, one.launch_ns, one.bytes, one.run);
  for (const CollectiveCall& call : rank.calls)
    if (call.outer) add(called_, call.op, call.time.start_ns, call.bytes, std::nullopt);
  if (exchanges_of(called_.counts) == 0) called_ = ran_;
}

void PhaseTally::add(Book& book, CollectiveOp op, std::int64_t launch_ns, std::int64_t bytes,
                     const std::optional<Span>& run) const {
  std::optional<Place> place = place_of(steps_, launch_ns);
  if (!place) return;
  // The innermost of nested annotations is used. They are nested at most this deep.
  constexpr int depth = 4;
  auto mark = std::ranges::upper_bound(marks_, launch_ns, {}, [](const Marked& one) { return one.time.start_ns; });
  for (int i = 0; i < depth && !steps_.empty() && mark != marks_.begin(); ++i)
    if (launch_ns < (--mark)->time.end_ns) {
      place->phase = mark->phase;
      break;
    }
  Count one;
  one.count = 1;
  one.bytes = bytes;
  one.unsized = bytes > 0 ? 0 : 1;
  one.in_first_forwards = place->first_forward ? 1 : 0;
  if (run) one.durations_ns.push_back(run->end_ns - run->start_ns);
  one.steps.insert(place->step);
  book.counts[static_cast<std::size_t>(place->phase)][static_cast<std::size_t>(op)].add(one);
  const bool renews = op == CollectiveOp::all_gather || op == CollectiveOp::broadcast;
  if (renews && place->phase == CallPhase::beside && first_backward_ns_ && launch_ns >= *first_backward_ns_)
    book.renewing.add(one);
}

Exchanges PhaseTally::both(const Count& called, const Count& run) {
  Exchanges result;
  result.count = called.count;
  result.steps = static_cast<std::int64_t>(called.steps.size());
  if (called.unsized == 0)
    result.bytes = called.bytes;
  else if (run.count > 0 && run.unsized == 0)
    result.bytes = run.bytes;
  if (run.durations_ns.empty()) return result;
  std::vector<std::int64_t> sorted_ns = run.durations_ns;
  std::sort(sorted_ns.begin(), sorted_ns.end());
  result.time_ns = std::accumulate(sorted_ns.begin(), sorted_ns.end(), std::int64_t{0}, sum_of);
  result.short_ns = sorted_ns[(sorted_ns.size() - 1) / 4];
  return result;
}

Exchanges PhaseTally::of(CallPhase phase, CollectiveOp op) const {
  const auto p = static_cast<std::size_t>(phase), o = static_cast<std::size_t>(op);
  return both(called_.counts[p][o], ran_.counts[p][o]);
}

std::int64_t PhaseTally::count(CollectiveOp op) const {
  std::int64_t sum = 0;
  for (const auto& phase : called_.counts) sum += phase[static_cast<std::size_t>(op)].count;
  return sum;
}

std::int64_t PhaseTally::exchanges_of(const Counts& counts) {
  std::int64_t sum = 0;
  for (const auto& phase : counts)
    for (std::size_t op = 0; op < collective_ops; ++op)
      if (static_cast<CollectiveOp>(op) != CollectiveOp::barrier) sum += phase[op].count;
  return sum;
}

std::int64_t PhaseTally::exchanges() const { return exchanges_of(called_.counts); }

std::int64_t PhaseTally::in_first_forwards(CollectiveOp op) const {
  return called_.counts[static_cast<std::size_t>(CallPhase::forward)][static_cast<std::size_t>(op)].in_first_forwards;
}

Exchanges PhaseTally::renewing() const { return both(called_.renewing, ran_.renewing); }

std::string PhaseTally::text() const {
  std::string all;
  for (std::size_t phase = 0; phase < call_phases; ++phase) {
    std::string of_phase;
    for (std::size_t op = 0; op < collective_ops; ++op)
      if (const std::int64_t count = called_.counts[phase][op].count; count > 0)
        of_phase += fmt::format("{}{} {}{}", of_phase.empty() ? "" : ", ", count, op_names[op],
                                count > 1 && static_cast<CollectiveOp>(op) != CollectiveOp::other ? "s" : "");
    if (of_phase.empty()) continue;
    if (steps_.empty()) return "in all: " + of_phase;
    all += fmt::format("{}{} {}", all.empty() ? "" : "; ", phase_names[phase], of_phase);
  }
  if (all.empty()) return "no collective";
  return fmt::format("in {} step{}: {}", steps_.size(), steps_.size() == 1 ? "" : "s", all);
}

}  // namespace ddpprof::import
