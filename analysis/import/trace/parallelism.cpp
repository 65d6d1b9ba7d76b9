#include "analysis/import/trace/parallelism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

enum Phase : std::size_t { forward, backward, beside, phases };
constexpr std::array<std::string_view, phases> phase_names = {"forward", "backward", "beside both"};
constexpr std::array<std::string_view, collective_ops> op_names = {
    "all-reduce", "broadcast", "all-gather", "reduce-scatter", "barrier", "send", "receive", "all-to-all", "other"};

struct Count {
  std::int64_t count = 0, bytes = 0;
};

class Tally {
 public:
  explicit Tally(const std::vector<HostStep>& steps) : steps_(steps) {}

  void add(CollectiveOp op, std::int64_t launch_ns, std::int64_t bytes) {
    const std::optional<Phase> phase = phase_at(launch_ns);
    if (!phase) return;
    Count& count = counts_[*phase][static_cast<std::size_t>(op)];
    ++count.count;
    count.bytes = sum_of(count.bytes, bytes);
  }
  Count of(Phase phase, CollectiveOp op) const { return counts_[phase][static_cast<std::size_t>(op)]; }
  std::int64_t of(CollectiveOp op) const {
    return of(forward, op).count + of(backward, op).count + of(beside, op).count;
  }
  std::int64_t exchanges() const {
    std::int64_t sum = 0;
    for (std::size_t op = 0; op < collective_ops; ++op)
      if (static_cast<CollectiveOp>(op) != CollectiveOp::barrier) sum += of(static_cast<CollectiveOp>(op));
    return sum;
  }

  std::string text() const {
    std::string all;
    for (std::size_t phase = 0; phase < phases; ++phase) {
      std::string of_phase;
      for (std::size_t op = 0; op < collective_ops; ++op)
        if (const std::int64_t count = counts_[phase][op].count; count > 0)
          of_phase += fmt::format("{}{} {}{}", of_phase.empty() ? "" : ", ", count, op_names[op],
                                  count > 1 && static_cast<CollectiveOp>(op) != CollectiveOp::other ? "s" : "");
      if (of_phase.empty()) continue;
      if (steps_.empty()) return "in all: " + of_phase;
      all += fmt::format("{}{} {}", all.empty() ? "" : "; ", phase_names[phase], of_phase);
    }
    if (all.empty()) return "no collective";
    return fmt::format("in {} step{}: {}", steps_.size(), steps_.size() == 1 ? "" : "s", all);
  }

 private:
  // None: in no step.
  std::optional<Phase> phase_at(std::int64_t moment_ns) const {
    if (steps_.empty()) return beside;
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), moment_ns,
                                        [](std::int64_t t, const HostStep& s) { return t < s.time.start_ns; });
    if (after == steps_.begin()) return std::nullopt;
    const HostStep& step = *std::prev(after);
    if (moment_ns >= step.time.end_ns) return std::nullopt;
    for (const Pass& pass : step.passes) {
      if (pass.backward.start_ns <= moment_ns && moment_ns < pass.backward.end_ns) return backward;
      if (pass.forward.start_ns <= moment_ns && moment_ns < pass.forward.end_ns) return forward;
    }
    return beside;
  }

  const std::vector<HostStep>& steps_;
  std::array<std::array<Count, collective_ops>, phases> counts_{};
};

Tally tally_of(const RankTrace& rank, const std::vector<HostStep>& steps, const std::vector<Collective>& collectives) {
  Tally calls(steps);
  for (const CollectiveCall& call : rank.calls)
    if (call.outer) calls.add(call.op, call.time.start_ns, call.bytes);
  if (calls.exchanges() > 0) return calls;
  Tally runs(steps);
  for (const Collective& collective : collectives) runs.add(collective.op, collective.launch_ns, collective.bytes);
  return runs;
}

// All-reduces of activations travel in forward as well as in backward; a loss's mean or a barrier is small, or rare.
bool reduces_activations(const Tally& tally, std::int64_t steps) {
  const Count in_forward = tally.of(forward, CollectiveOp::all_reduce);
  const Count in_backward = tally.of(backward, CollectiveOp::all_reduce);
  if (in_forward.count < std::max<std::int64_t>(1, steps)) return false;
  if (in_forward.bytes > 0 && in_backward.bytes > 0) return in_forward.bytes >= in_backward.bytes / 10;
  return in_forward.count >= 2 * steps && in_forward.count >= in_backward.count / 4;
}

}  // namespace

std::string collectives_by_phase(const RankTrace& rank, const std::vector<HostStep>& steps,
                                 const std::vector<Collective>& collectives) {
  return tally_of(rank, steps, collectives).text();
}

Recognised recognise(const RankTrace& rank, const std::vector<HostStep>& steps,
                     const std::vector<Collective>& collectives, std::int64_t computing_devices) {
  const Tally tally = tally_of(rank, steps, collectives);
  const auto as = [&](Parallelism kind, const std::string& why) {
    return Recognised{kind, fmt::format("{} ({})", why, tally.text())};
  };
  if (rank.sharding_marks > 0)
    return as(Parallelism::sharded, fmt::format("{} annotations of FullyShardedDataParallel", rank.sharding_marks));
  if (tally.of(CollectiveOp::all_gather) > 0 && tally.of(CollectiveOp::reduce_scatter) > 0)
    return as(Parallelism::sharded, "parameters are gathered and gradients scattered");

  const auto count_of_steps = static_cast<std::int64_t>(steps.size());
  const std::int64_t between = tally.of(CollectiveOp::send) + tally.of(CollectiveOp::receive);
  if (between > 0 && between >= count_of_steps)
    return as(Parallelism::model, "ranks send to each other, as pipeline stages and experts do");
  if (const std::int64_t exchanged = tally.of(CollectiveOp::all_to_all); exchanged > 0 && exchanged >= count_of_steps)
    return as(Parallelism::model, "all-to-alls, as experts and sequence parallel layers do them");
  if (reduces_activations(tally, count_of_steps))
    return as(Parallelism::model, "all-reduces within forward, as tensor parallel layers do them");

  const auto gradient =
      std::find_if(collectives.begin(), collectives.end(), [](const Collective& c) { return c.gradient; });
  const std::int64_t world_size = rank.world_size.value_or(0);
  if (gradient != collectives.end()) {
    if (gradient->group_size > 1 && gradient->group_size < world_size)
      return as(Parallelism::model, fmt::format("gradients are reduced within groups of {} of the {} ranks",
                                                gradient->group_size, world_size));
    return {};
  }
  if (rank.replicated_forwards > 0)
    return as(Parallelism::one_process, fmt::format("{} annotations of DataParallel", rank.replicated_forwards));
  if (computing_devices > 1)
    return as(
        Parallelism::one_process,
        fmt::format("one process computed on {} devices and reduced no gradients among processes", computing_devices));
  const bool trains = std::any_of(steps.begin(), steps.end(), [](const HostStep& step) { return step.has_backward(); });
  if (world_size > 1 && trains && tally.exchanges() == 0)
    return as(Parallelism::apart, fmt::format("rank {} of {} exchanged nothing", rank.rank.value_or(0), world_size));
  return {};
}

ParallelismNote note_of(const Recognised& recognised) {
  switch (recognised.kind) {
    case Parallelism::sharded:
      return {"sharded_data_parallel", "sharded data parallel: " + recognised.why,
              "it is reported, not predicted; of the same model under DDP, predict --what-if strategy=zero3 says what "
              "sharding would do"};
    case Parallelism::one_process:
      return {"not_data_parallel", "DataParallel in one process: " + recognised.why,
              "it is reported, not predicted; to predict DDP, profile the model on one device, or under DDP"};
    case Parallelism::apart:
      return {"not_data_parallel", "no data parallel step: " + recognised.why,
              "record the devices' activity, or steps that synchronise; of a training that is to be predicted from one "
              "device, profile one that was started alone"};
    case Parallelism::model:
    case Parallelism::data:
      break;
  }
  return {
      "not_data_parallel", "no data parallelism alone: " + recognised.why,
      "it is reported, not predicted: more ranks of another kind change a step in ways that its trace does not say"};
}

}  // namespace ddpprof::import
