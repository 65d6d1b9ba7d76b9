#include "analysis/import/trace/sharding/unmarked_units.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "analysis/import/trace/sharding/unit_names.hpp"

namespace ddpprof::import {
namespace {

struct GatheredUnit {
  std::int64_t bytes = 0, element_bytes = 0;
  bool gathered_again = false;  // in the current backward
  bool reduced = false;         // in the current step

  std::int64_t elements() const { return element_bytes > 0 ? bytes / element_bytes : 0; }
};

std::uint32_t number_of(std::size_t unit) { return first_nameless_unit + static_cast<std::uint32_t>(unit) + 1; }

// Reads one step's collectives in the order of their calls.
class StepMarks {
 public:
  StepMarks(const HostStep& step, std::vector<ShardingMark>& marks) : step_(step), marks_(marks) {}

  void take(const Collective& collective, const CollectiveCall& call) {
    const Pass* pass = pass_at(call.time.start_ns);
    if (collective.op == CollectiveOp::reduce_scatter) return reduce(collective, call);
    if (!pass) return;
    if (pass != pass_) begin(*pass, call.tid);
    if (call.time.start_ns < pass->backward.start_ns)
      gather(collective, call);
    else
      gather_again(collective, call);
  }

  const std::vector<GatheredUnit>& units() const { return units_; }
  // False if the forwards of the step's micro-batches gather different sizes.
  bool regular() const { return regular_ && (forward_ == 0 || forward_ == units_.size()); }

 private:
  // The pass whose forward or backward is at the time. The time before the first forward is part of it.
  const Pass* pass_at(std::int64_t time_ns) const {
    for (const Pass& pass : step_.passes)
      if (time_ns < pass.backward.end_ns) return &pass;
    return nullptr;
  }

  void mark(const Span& time, std::int64_t tid, ShardingAction action, std::uint32_t unit) {
    marks_.push_back({time, tid, action, unit, false});
  }

  void begin(const Pass& pass, std::int64_t tid) {
    regular_ = regular();
    first_pass_ = pass_ == nullptr;
    pass_ = &pass;
    forward_ = 0;
    for (GatheredUnit& unit : units_) unit.gathered_again = false;
    const std::int64_t start_ns =
        std::max(step_.time.start_ns, std::min(pass.forward.start_ns, pass.backward.start_ns));
    mark({start_ns, start_ns}, tid, ShardingAction::root_pre_forward, 0);
    mark({pass.backward.start_ns, pass.backward.start_ns}, tid, ShardingAction::pre_backward, 0);
  }

  void gather(const Collective& collective, const CollectiveCall& call) {
    if (forward_ == units_.size() && first_pass_) units_.push_back({collective.bytes, collective.element_bytes});
    if (forward_ >= units_.size() || units_[forward_].bytes != collective.bytes) {
      regular_ = false;
      return;
    }
    mark(call.time, call.tid, ShardingAction::all_gather, number_of(forward_++));
  }

  void gather_again(const Collective& collective, const CollectiveCall& call) {
    const auto unit = std::find_if(units_.rbegin(), units_.rend(), [&](const GatheredUnit& one) {
      return !one.gathered_again && one.bytes == collective.bytes;
    });
    if (unit == units_.rend()) return;
    unit->gathered_again = true;
    mark(call.time, call.tid, ShardingAction::all_gather,
         number_of(static_cast<std::size_t>(units_.rend() - unit) - 1));
  }

  void reduce(const Collective& collective, const CollectiveCall& call) {
    const std::int64_t elements = collective.element_bytes > 0 ? collective.bytes / collective.element_bytes : 0;
    const auto unit = std::find_if(units_.rbegin(), units_.rend(), [&](const GatheredUnit& one) {
      return !one.reduced && elements > 0 && one.elements() == elements;
    });
    if (unit != units_.rend()) unit->reduced = true;
    mark(call.time, call.tid, ShardingAction::reduce,
         unit == units_.rend() ? 0 : number_of(static_cast<std::size_t>(units_.rend() - unit) - 1));
  }

  const HostStep& step_;
  std::vector<ShardingMark>& marks_;
  std::vector<GatheredUnit> units_;
  const Pass* pass_ = nullptr;
  std::size_t forward_ = 0;  // all-gathers of the current forward
  bool first_pass_ = true;
  bool regular_ = true;
};

}  // namespace

std::vector<ShardingMark> unmarked_units(const RankTrace& rank, const std::vector<const HostStep*>& steps,
                                         const std::vector<Collective>& collectives) {
  std::vector<const Collective*> called;
  for (const Collective& one : collectives)
    if (one.call && one.run && one.bytes > 0 &&
        (one.op == CollectiveOp::all_gather || one.op == CollectiveOp::reduce_scatter))
      called.push_back(&one);
  const auto call_of = [&](const Collective* one) -> const CollectiveCall& { return rank.calls[*one->call]; };
  std::ranges::stable_sort(called, {}, [&](const Collective* one) { return call_of(one).time.start_ns; });
  std::vector<ShardingMark> marks;
  std::optional<std::vector<std::int64_t>> usual;
  auto next = called.begin();
  for (const HostStep* step : steps) {
    while (next != called.end() && call_of(*next).time.start_ns < step->time.start_ns) ++next;
    StepMarks of_step(*step, marks);
    for (; next != called.end() && call_of(*next).time.start_ns < step->time.end_ns; ++next)
      of_step.take(**next, call_of(*next));
    std::vector<std::int64_t> sizes;
    for (const GatheredUnit& unit : of_step.units()) sizes.push_back(unit.bytes);
    if (sizes.empty() || !of_step.regular() || (usual && *usual != sizes)) return {};
    usual = sizes;
  }
  return marks;
}

}  // namespace ddpprof::import
