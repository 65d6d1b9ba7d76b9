#include "analysis/import/trace/parallelism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/last_backward.hpp"
#include "analysis/import/trace/phase_tally.hpp"

namespace ddpprof::import {
namespace {

enum class Answer { no, unsure, yes };

// Returns yes if `part` carries at least the given share of `whole`. If sizes are missing, durations are compared. The
// long runs of `part` then count like its short ones, because the short ones did not wait for other ranks. Unsure if
// the runs are so short that all of them may be latency.
Answer carries(const Exchanges& part, const Exchanges& whole, double share_of_bytes, double share_of_time) {
  if (part.bytes && whole.bytes)
    return static_cast<double>(*part.bytes) >= share_of_bytes * static_cast<double>(*whole.bytes) ? Answer::yes
                                                                                                  : Answer::no;
  constexpr std::int64_t latency_ns = 50'000;
  const double time_ns = static_cast<double>(part.short_ns) * static_cast<double>(part.count);
  const bool long_enough = part.short_ns >= latency_ns && time_ns >= share_of_time * static_cast<double>(whole.time_ns);
  return long_enough ? Answer::yes : Answer::unsure;
}

// The tally, and the values that it is compared with.
struct Evidence {
  PhaseTally tally;
  std::int64_t steps = 0;
  bool phases = false;  // true if a step has a backward
  Exchanges gradients;  // all-reduces of gradients, otherwise other reductions in backward (to one rank)

  std::int64_t once_a_step() const { return std::max<std::int64_t>(1, steps); }
};

Exchanges gradients_of(const PhaseTally& tally, const std::vector<HostStep>& steps,
                       const std::vector<Collective>& collectives) {
  Exchanges sum;
  sum.bytes = 0;
  std::optional<std::size_t> last_step;
  for (const Collective& one : collectives) {
    if (!one.gradient) continue;
    ++sum.count;
    sum.bytes = sum.bytes && one.bytes > 0 ? std::optional(sum_of(*sum.bytes, one.bytes)) : std::nullopt;
    if (one.run) sum.time_ns = sum_of(sum.time_ns, one.run->end_ns - one.run->start_ns);
    const auto step = static_cast<std::size_t>(
        std::upper_bound(steps.begin(), steps.end(), one.launch_ns,
                         [](std::int64_t t, const HostStep& s) { return t < s.time.start_ns; }) -
        steps.begin());
    sum.steps += last_step == step ? 0 : 1;
    last_step = step;
  }
  return sum.count > 0 ? sum : tally.of(CallPhase::backward, CollectiveOp::other);
}

// FSDP and ZeRO gather parameters and scatter gradients in every step. If gradients accumulate over annotated steps,
// they are scattered in some steps only.
bool gathers_and_scatters(const Evidence& e, bool all_reduces_gradients) {
  const std::int64_t scattered = e.tally.count(CollectiveOp::reduce_scatter);
  return e.tally.count(CollectiveOp::all_gather) >= e.once_a_step() &&
         (scattered >= e.once_a_step() || (scattered > 0 && !all_reduces_gradients));
}

// An optimizer with sharded state distributes the parameters that it updated: as many bytes as the gradients, or half
// if only the optimizer computes in full precision. The duration is at least half of an all-reduce's.
Answer renews_parameters(const Evidence& e) {
  const Exchanges renewed = e.tally.renewing();
  if (e.gradients.count == 0 || renewed.count == 0 || 2 * renewed.steps <= e.gradients.steps) return Answer::no;
  const double steps = static_cast<double>(renewed.steps) / static_cast<double>(e.gradients.steps);
  return carries(renewed, e.gradients, 0.4 * steps, 0.25 * steps);
}

// Stages send in forward or backward. A gather of metrics also runs as sends, after a forward, and carries few bytes.
Answer sends_between_stages(const Evidence& e) {
  const auto sum = [&](CollectiveOp op) { return e.tally.count(op); };
  const std::int64_t all = sum(CollectiveOp::send) + sum(CollectiveOp::receive);
  if (!e.phases)
    return all >= e.once_a_step() && all > 1 && all > sum(CollectiveOp::all_reduce) ? Answer::yes : Answer::no;
  const Exchanges sent = e.tally.of(CallPhase::forward, CollectiveOp::send);
  const Exchanges received = e.tally.of(CallPhase::forward, CollectiveOp::receive);
  const std::int64_t in_backward = e.tally.of(CallPhase::backward, CollectiveOp::send).count +
                                   e.tally.of(CallPhase::backward, CollectiveOp::receive).count;
  if (in_backward >= e.once_a_step()) return Answer::yes;
  if (in_backward + sent.count + received.count < e.once_a_step()) return Answer::no;
  if (e.gradients.count == 0) return Answer::yes;
  // A kernel that sends and receives is counted as a send. The host's calls distinguish both.
  Exchanges most = received.count > sent.count ? received : sent;
  if (sent.bytes && received.bytes) most.bytes = sum_of(*sent.bytes, *received.bytes);
  return carries(most, e.gradients, 0.001, 0.25);
}

// All-reduces of activations occur in forward as well as in backward. A loss's mean or a barrier is small, or rare.
Answer reduces_activations(const Evidence& e) {
  const Exchanges in_forward = e.tally.of(CallPhase::forward, CollectiveOp::all_reduce);
  const Exchanges in_backward = e.tally.of(CallPhase::backward, CollectiveOp::all_reduce);
  if (in_forward.count < e.once_a_step()) return Answer::no;
  if (in_forward.bytes && in_backward.bytes && in_backward.count > 0) return carries(in_forward, in_backward, 0.1, 0);
  if (in_forward.count < 2 * e.steps) return Answer::no;
  return carries(in_forward, in_backward, 0.1, 0.25);
}

constexpr std::string_view between_stages = "ranks send to each other, as in pipeline stages";
constexpr std::string_view all_to_alls = "all-to-alls, as in experts and sequence parallel layers";
constexpr std::string_view tensor_parallel = "all-reduces in forward, as in tensor parallel layers";

// FSDP beside stages, experts or tensor parallel layers. Returns the evidence; empty: FSDP alone.
std::string_view beside_shards(const Evidence& e) {
  if (sends_between_stages(e) == Answer::yes) return between_stages;
  if (e.tally.count(CollectiveOp::all_to_all) >= e.once_a_step()) return all_to_alls;
  const Exchanges activations = e.tally.of(CallPhase::forward, CollectiveOp::all_reduce);
  const Exchanges gradients = e.tally.of(CallPhase::backward, CollectiveOp::reduce_scatter);
  if (activations.count >= e.once_a_step() && gradients.count > 0 &&
      carries(activations, gradients, 0.01, 0.25) == Answer::yes)
    return tensor_parallel;
  return "";
}

// Returns true if layers computed without a backward and an optimizer. A replay of a CUDA graph hides both, but it
// hides the operations of the layers, too.
bool is_forward_alone(const RankTrace& rank, const std::vector<HostStep>& steps) {
  return rank.matrix_operations > 0 && rank.backward_ops.size() == 0 && rank.gradients.empty() &&
         std::ranges::none_of(steps,
                              [](const HostStep& step) { return step.has_backward() || !step.optimizers.empty(); });
}

// The reductions of one group: bytes in the last forward of each step, and from the start of its last backward to the
// optimizer's step.
struct GroupReductions {
  std::int64_t size = 0, forward_bytes = 0, backward_bytes = 0;
  bool sized = true;      // all sizes were recorded
  bool scatters = false;  // by reduce-scatters in or after backward
};

std::map<std::uint64_t, GroupReductions> reductions_by_group(const std::vector<HostStep>& steps,
                                                             const std::vector<Collective>& collectives) {
  std::map<std::uint64_t, GroupReductions> groups;
  const auto add = [&](const Collective& one, std::int64_t GroupReductions::*bytes) {
    const bool scatters = one.op == CollectiveOp::reduce_scatter;
    if (one.integral || (one.op != CollectiveOp::all_reduce && !scatters)) return;
    GroupReductions& group = groups[one.communicator];
    group.size = std::max(group.size, one.group_size);
    group.sized = group.sized && one.bytes > 0;
    group.scatters = group.scatters || (scatters && bytes == &GroupReductions::backward_bytes);
    group.*bytes = sum_of(group.*bytes, one.bytes);
  };
  for (const HostStep& step : steps) {
    if (!step.has_backward()) continue;
    const Span& forward = step.passes.back().forward;
    auto one = std::ranges::lower_bound(collectives, forward.start_ns, {}, &Collective::launch_ns);
    for (; one != collectives.end() && one->launch_ns < forward.end_ns; ++one)
      add(*one, &GroupReductions::forward_bytes);
    for (const Collective& reduced : in_last_backward(step, collectives))
      add(reduced, &GroupReductions::backward_bytes);
  }
  return groups;
}

// Returns Recognised::replicas of ranks that exchange activations in forward.
std::int64_t replicas_of_divided_model(const RankTrace& rank, const std::vector<HostStep>& steps,
                                       const std::vector<Collective>& collectives) {
  constexpr std::int64_t small = 1000;  // a loss's mean and a norm have fewer bytes by this factor
  const std::map<std::uint64_t, GroupReductions> groups = reductions_by_group(steps, collectives);
  std::int64_t most_forward = 0, most_backward = 0;
  for (const auto& [communicator, group] : groups) {
    if (!group.sized) return 0;
    most_forward = std::max(most_forward, group.forward_bytes);
    most_backward = std::max(most_backward, group.backward_bytes);
  }
  if (most_forward == 0) return 0;
  std::map<std::uint64_t, std::vector<std::int64_t>> members;
  for (const ProcessGroup& group : process_groups(rank)) members[group.communicator] = group.ranks;
  std::set<std::uint64_t> of_activations;
  std::set<std::int64_t> partners;  // of this rank
  for (const auto& [communicator, group] : groups) {
    if (group.forward_bytes == 0 || group.forward_bytes < most_forward / small) continue;
    of_activations.insert(communicator);
    for (const std::int64_t member : members[communicator])
      if (rank.rank && member != *rank.rank) partners.insert(member);
  }
  std::int64_t replicas = 1;
  bool scatters = false, all_reduces = false;
  for (const auto& [communicator, group] : groups) {
    if (group.backward_bytes == 0 || group.backward_bytes < most_backward / small) continue;
    if (of_activations.contains(communicator)) {
      // The gradients of activations have the sizes of activations, once or, if forward is computed again, twice.
      if (group.backward_bytes > 3 * group.forward_bytes) return 0;
      continue;
    }
    if (std::ranges::any_of(members[communicator], [&](std::int64_t member) { return partners.contains(member); }))
      continue;
    if (group.size == 0) return 0;
    replicas = std::max(replicas, group.size);
    (group.scatters ? scatters : all_reduces) = true;
  }
  return scatters && all_reduces ? 0 : replicas;  // shards that are replicated: of several groups
}

// Returns true if the ranks reduce as many elements as they accumulate gradients of in most steps, so that each of them
// has the whole model. Gradients of experts and embeddings that only this rank has are not reduced. None: unknown.
std::optional<bool> reduces_all_gradients(const RankTrace& rank, const std::vector<HostStep>& steps,
                                          const std::vector<Collective>& collectives) {
  std::int64_t all = 0, some = 0;  // steps
  for (const HostStep& step : steps) {
    std::int64_t accumulated = 0, reduced = 0;  // elements
    for (const GradientMark& mark : gradients_of_last_backward(step, rank.gradients)) {
      if (mark.numel <= 0) return std::nullopt;
      accumulated = sum_of(accumulated, mark.numel);
    }
    for (const Collective& one : in_last_backward(step, collectives)) {
      if (one.integral || (one.op != CollectiveOp::all_reduce && one.op != CollectiveOp::reduce_scatter)) continue;
      if (one.bytes <= 0 || one.element_bytes <= 0) return std::nullopt;
      reduced = sum_of(reduced, one.bytes / one.element_bytes);
    }
    if (accumulated == 0 || reduced == 0) continue;
    ++(accumulated - reduced <= reduced / 100 ? all : some);
  }
  return all + some > 0 ? std::optional(all > some) : std::nullopt;
}

// The ranks of the groups that exchange equal parts all to all.
struct EqualExchanges {
  bool any = false, unequal = false;
  std::int64_t members = 0;  // of each group; 0: unknown, or groups of several sizes
};

EqualExchanges equal_exchanges(const std::vector<Collective>& collectives) {
  EqualExchanges found;
  for (const Collective& one : collectives) {
    if (one.op != CollectiveOp::all_to_all || one.group_size == 1) continue;
    // Numbers of tokens and indices of embeddings are whole numbers. Kernels that are named after all-to-alls and belong
    // to no call are those of libraries for experts.
    const bool of_experts = one.executed == CollectiveOp::all_to_all && !one.call && one.bytes == 0;
    found.unequal = found.unequal || one.integral || one.details.largest_split || of_experts;
    found.members = !found.any || found.members == one.group_size ? one.group_size : 0;
    found.any = true;
  }
  return found;
}

// Ranks that divide sequences (Ulysses) exchange equal parts all to all, and reduce gradients over all ranks, because
// each of them has the whole model. Experts are reduced over fewer ranks or by none, and receive unequal parts. Returns
// the number of groups that exchange, each of which has the samples of one rank. None: these are not such groups. 0: it
// is unknown whether they are.
std::optional<std::int64_t> replicas_of_divided_sequences(const RankTrace& rank, const std::vector<HostStep>& steps,
                                                          const std::vector<Collective>& collectives) {
  const std::int64_t world_size = rank.world_size.value_or(0);
  const EqualExchanges exchanges = equal_exchanges(collectives);
  if (!exchanges.any || exchanges.unequal || world_size < 2) return std::nullopt;
  constexpr std::int64_t small = 1000;
  const std::map<std::uint64_t, GroupReductions> groups = reductions_by_group(steps, collectives);
  std::int64_t most = 0;
  bool sized = true;
  for (const auto& [communicator, group] : groups) {
    most = std::max(most, group.backward_bytes);
    sized = sized && group.sized;
  }
  if (groups.empty()) return std::nullopt;
  for (const auto& [communicator, group] : groups) {
    if (group.backward_bytes == 0 || group.backward_bytes < most / small) continue;
    if (group.size > 0 && group.size != world_size) return std::nullopt;
    sized = sized && group.size > 0;
  }
  if (!sized || most == 0 || exchanges.members == 0 || world_size % exchanges.members != 0) return 0;
  if (exchanges.members < world_size) return world_size / exchanges.members;
  const std::optional<bool> whole = reduces_all_gradients(rank, steps, collectives);
  if (!whole) return 0;
  return *whole ? std::optional<std::int64_t>(1) : std::nullopt;
}

}  // namespace

Recognised recognise(const RankTrace& rank, const std::vector<HostStep>& steps,
                     const std::vector<Collective>& collectives, std::int64_t computing_devices) {
  Evidence evidence{PhaseTally(rank, steps, collectives), static_cast<std::int64_t>(steps.size()), false, {}};
  const PhaseTally& tally = evidence.tally;
  evidence.phases = std::any_of(steps.begin(), steps.end(), [](const HostStep& step) { return step.has_backward(); });
  evidence.gradients = gradients_of(tally, steps, collectives);
  const auto gradient =
      std::find_if(collectives.begin(), collectives.end(), [](const Collective& c) { return c.gradient; });
  std::string unsure;
  const auto as = [&](Parallelism kind, const std::string& why, std::optional<std::int64_t> replicas = {}) {
    return Recognised{kind, fmt::format("{} ({})", why, tally.text()), "", replicas};
  };
  const auto of_divided_model = [&] { return replicas_of_divided_model(rank, steps, collectives); };
  const auto of_divided_sequences = [&] { return replicas_of_divided_sequences(rank, steps, collectives); };
  const std::int64_t world_size = rank.world_size.value_or(0);
  const bool smaller_groups =
      gradient != collectives.end() && gradient->group_size > 1 && gradient->group_size < world_size;
  // Without evidence the rank counts as data parallel, and the doubt is reported.
  const auto found = [&](Answer answer, std::string_view what) {
    if (answer == Answer::unsure) unsure += fmt::format("{}{}", unsure.empty() ? "" : "; ", what);
    return answer == Answer::yes;
  };
  if (rank.sharding_marks > 0) {
    const std::string marks = fmt::format("{} annotations of FSDP", rank.sharding_marks);
    const std::string_view beside = beside_shards(evidence);
    if (beside.empty()) return as(Parallelism::sharded, marks);
    std::optional<std::int64_t> replicas;
    if (beside == tensor_parallel) replicas = of_divided_model();
    if (beside == all_to_alls) replicas = of_divided_sequences();
    if (beside == between_stages) replicas = 0;
    return as(Parallelism::model, fmt::format("{}; {}", marks, beside), replicas);
  }
  if (rank.job && !rank.job->sharding.empty()) return as(Parallelism::sharded, rank.job->sharding);
  if (tally.in_first_forwards(CollectiveOp::reduce_scatter) >= evidence.once_a_step())
    return as(Parallelism::model, "reduce-scatters in forward, as in sequence parallel layers", of_divided_model());
  if (gathers_and_scatters(evidence, gradient != collectives.end()))
    return as(Parallelism::sharded, "parameters are gathered and gradients scattered", of_divided_sequences());
  if (found(renews_parameters(evidence),
            "all-gathers or broadcasts after backward may distribute parameters that an optimizer updated in shards"))
    return as(Parallelism::sharded,
              "parameters are distributed after the optimizer's step, as by optimizers with sharded state");
  if (found(sends_between_stages(evidence), "sends in forward may be those of pipeline stages"))
    return as(Parallelism::model, "ranks send to each other, as in pipeline stages and experts", 0);
  if (tally.count(CollectiveOp::all_to_all) >= evidence.once_a_step()) {
    const std::string why(all_to_alls);
    if (reduces_activations(evidence) == Answer::yes) return as(Parallelism::model, why, of_divided_model());
    if (smaller_groups) return as(Parallelism::model, why, gradient->group_size);
    if (const auto replicas = of_divided_sequences())
      return as(Parallelism::model,
                *replicas > 0 ? why : why + "; whether the ranks divide sequences or experts is not known", replicas);
    // Experts and embeddings are divided between ranks with samples of their own.
    return as(Parallelism::model, why + "; each rank is assumed to have samples of its own, as with experts");
  }
  if (found(reduces_activations(evidence), "all-reduces in forward may be those of tensor parallel layers"))
    return as(Parallelism::model, std::string(tensor_parallel), of_divided_model());
  if (!unsure.empty()) unsure = fmt::format("{} ({})", unsure, tally.text());

  // Ranks that exchange something in inference may process the same samples.
  if (is_forward_alone(rank, steps))
    return {Parallelism::inference, "", "", collectives.empty() ? std::nullopt : std::optional<std::int64_t>(0)};
  if (gradient != collectives.end()) {
    if (smaller_groups)
      return as(
          Parallelism::model,
          fmt::format("gradients are reduced within groups of {} of the {} ranks", gradient->group_size, world_size),
          gradient->group_size);
    if (computing_devices > 1)
      return as(
          Parallelism::model,
          fmt::format("one process computed on {} devices, as a model that spans devices does", computing_devices));
    return {Parallelism::data, "", std::move(unsure)};
  }
  if (rank.replicated_forwards > 0)
    return as(Parallelism::one_process, fmt::format("{} annotations of DataParallel", rank.replicated_forwards));
  if (computing_devices > 1)
    return as(
        Parallelism::one_process,
        fmt::format("one process computed on {} devices and reduced no gradients among processes", computing_devices));
  if (world_size > 1 && evidence.phases && tally.exchanges() == 0 && rank.whole_graphs == 0)
    return as(Parallelism::apart, fmt::format("rank {} of {} exchanged nothing", rank.rank.value_or(0), world_size));
  return {Parallelism::data, "", std::move(unsure)};
}

ParallelismNote note_of(const Recognised& recognised) {
  switch (recognised.kind) {
    case Parallelism::sharded:
      if (recognised.units_known)
        return {"sharded_data_parallel", "sharded data parallel: " + recognised.why,
                "its units: --report sharding; predictions need two or more ranks, recorded with the same units"};
      return {
          "sharded_data_parallel", "sharded data parallel: " + recognised.why,
          "it is reported, not predicted, because its units are not annotated as FSDP's are: profile the same model under "
          "DDP and use predict --what-if strategy=zero3"};
    case Parallelism::one_process:
      return {"not_data_parallel", "DataParallel in one process: " + recognised.why,
              "it is reported, not predicted; to predict DDP, profile the model on one device, or under DDP"};
    case Parallelism::apart:
      return {"not_data_parallel", "not a data parallel step: " + recognised.why,
              "record the devices' activity, or steps that synchronise; to predict from one device, profile a training "
              "with one rank"};
    case Parallelism::inference:
      return {"no_backward",
              "the trace has operations of layers, but neither a backward nor an optimizer's step: inference, or a "
              "forward alone",
              "step times and communication are reported. Other N and a learning rate are those of a training: import "
              "a trace of a training"};
    case Parallelism::model:
    case Parallelism::data:
    case Parallelism::unrecorded:
      break;
  }
  return {"not_data_parallel", "not data parallelism alone: " + recognised.why,
          "it is reported, not predicted: the effect of more ranks of this kind on a step cannot be derived from its "
          "trace"};
}

}  // namespace ddpprof::import
