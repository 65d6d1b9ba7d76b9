#include "analysis/ingest/summary.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "analysis/ingest/busy.hpp"

namespace ddpprof::ingest {
namespace {

using vocabulary::StepKind;

// Finds the step that contains a time. Steps are in order of their start.
std::optional<std::size_t> step_at(const std::vector<StepFact>& steps, std::int64_t time_ns) {
  auto after = std::upper_bound(steps.begin(), steps.end(), time_ns,
                                [](std::int64_t t, const StepFact& step) { return t < step.time.start_ns; });
  if (after == steps.begin()) return std::nullopt;
  const auto found = std::prev(after);
  if (time_ns >= found->time.end_ns) return std::nullopt;
  return static_cast<std::size_t>(found - steps.begin());
}

// The parameters of each bucket by generation, and the time from which each generation is valid.
class Buckets {
 public:
  explicit Buckets(const std::vector<MemberFact>& members) {
    for (const MemberFact& member : members) {
      parameters_[{member.generation, member.bucket}].push_back(member.parameter);
      const auto [known, fresh] = since_ns_.try_emplace(member.generation, member.time_ns);
      if (!fresh) known->second = std::min(known->second, member.time_ns);
    }
  }
  const std::vector<std::int64_t>* find(std::int64_t bucket, std::int64_t time_ns) const {
    for (auto generation = since_ns_.rbegin(); generation != since_ns_.rend(); ++generation) {
      if (generation->second > time_ns) continue;
      const auto found = parameters_.find({generation->first, bucket});
      return found == parameters_.end() ? nullptr : &found->second;
    }
    return nullptr;
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> parameters_;
  std::map<std::int64_t, std::int64_t> since_ns_;
};

void add_phase(store::StepRow& row, const PhaseFact& phase) {
  const std::int64_t duration_ns = phase.time.end_ns - phase.time.start_ns;
  switch (phase.name) {
    case PhaseName::data_wait:
      row.data_wait_ns += duration_ns;
      break;
    case PhaseName::host_to_device:
      row.host_to_device_ns += duration_ns;
      break;
    case PhaseName::buffers:
      row.buffers_ns += duration_ns;
      break;
    case PhaseName::forward:
      row.forward_ns += duration_ns;
      break;
    case PhaseName::backward:
      row.backward_ns += duration_ns;
      break;
    case PhaseName::optimizer:
      row.optimizer_ns += duration_ns;
      break;
    case PhaseName::replicate:
    case PhaseName::scatter:
    case PhaseName::gather:
    case PhaseName::reduce:
      row.copy_ns += duration_ns;
      break;
    case PhaseName::replica_forward:
    case PhaseName::replica_backward:
    case PhaseName::load_batch:  // the step only waits in data_wait
    case PhaseName::none:
      break;
  }
}

std::int64_t lane_of(const PhaseFact& phase) {
  if (is_replica(phase.name)) return 1 + phase.replica;
  return is_load(phase.name) ? -1 - phase.replica : 0;
}

void use(const StepTotals& totals, store::StepRow& row) {
  row.compute_ns = totals.compute_ns;
  row.communication_ns = totals.communication_ns;
  row.overlapped_ns = totals.overlapped_ns;
  row.exposed_ns = totals.communication_ns - totals.overlapped_ns;
  row.device_idle_ns = totals.device_idle_ns;
}

StepSummary summarise_step(const StepFact& fact, const StepFacts& facts, const Activity& activity,
                           const std::map<std::int64_t, std::int64_t>& last_grads) {
  StepSummary summary;
  store::StepRow& row = summary.row;
  row.step = fact.step;
  row.kind = step_kind_text(fact.kind);
  row.samples = fact.samples;
  row.start_ns = fact.time.start_ns;
  row.duration_ns = fact.time.end_ns - fact.time.start_ns;
  for (const PhaseFact& phase : facts.phases) {
    add_phase(row, phase);
    if (fact.kind == StepKind::warmup) continue;
    summary.phases.push_back({0, std::string(to_string(phase.name)), lane_of(phase), phase.time.start_ns - row.start_ns,
                              phase.time.end_ns - phase.time.start_ns, phase.bytes});
  }
  if (fact.kind == StepKind::measured)
    for (const auto& [parameter, time_ns] : last_grads) summary.grads.push_back({0, parameter, time_ns - row.start_ns});
  const IntervalSet compute = activity.compute(facts);
  const IntervalSet communication = activity.communication(facts);
  row.compute_ns = total_ns(compute);
  row.communication_ns = total_ns(communication);
  row.overlapped_ns = total_ns(intersect(communication, compute));
  row.exposed_ns = row.communication_ns - row.overlapped_ns;
  row.device_idle_ns = activity.device_idle_ns(facts, compute, communication);
  return summary;
}

}  // namespace

std::string_view step_kind_text(StepKind kind) {
  switch (kind) {
    case StepKind::warmup:
      return "warmup";
    case StepKind::measured:
      return "measured";
    case StepKind::unwrapped:
      return "unwrapped";
    case StepKind::untraced:
      return "untraced";
  }
  return "warmup";  // an unknown, later kind must not be used for medians
}

std::string_view collective_op_text(std::int32_t op) {
  using enum vocabulary::CollectiveOp;
  switch (static_cast<vocabulary::CollectiveOp>(op)) {
    case all_reduce:
      return "all_reduce";
    case broadcast:
      return "broadcast";
    case all_gather:
      return "all_gather";
    case reduce_scatter:
      return "reduce_scatter";
    case barrier:
      return "barrier";
    case send:
      return "send";
    case receive:
      return "receive";
    case all_to_all:
      return "all_to_all";
    case other:
      break;
  }
  return "other";
}

ShardSummary summarise(const ShardTrace& trace) {
  std::vector<StepFacts> facts(trace.steps.size());
  std::vector<std::map<std::int64_t, std::int64_t>> last_grads(trace.steps.size());
  std::vector<std::array<std::pair<double, std::int64_t>, step_numbers>> numbers(trace.steps.size());  // sum, count
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i].time = trace.steps[i].time;
  for (const PhaseFact& phase : trace.phases)
    if (const auto at = step_at(trace.steps, phase.time.start_ns)) {
      facts[*at].phases.push_back(phase);
      if (is_load(phase.name)) continue;  // it may span steps and belongs to the step in which it started
      std::int64_t& end_ns = facts[*at].phases.back().time.end_ns;
      end_ns = std::min(end_ns, facts[*at].time.end_ns);
    }
  for (const GradFact& grad : trace.grads)
    if (const auto at = step_at(trace.steps, grad.time_ns)) {
      facts[*at].grads.push_back(grad);
      last_grads[*at][grad.parameter] = grad.time_ns;
    }
  for (const NumberFact& number : trace.numbers)
    if (const auto at = step_at(trace.steps, number.time_ns)) {
      auto& [sum, count] = numbers[*at][static_cast<std::size_t>(number.what)];
      sum += number.value;
      ++count;
    }

  ShardSummary summary;
  const Buckets buckets(trace.members);
  for (const CollectiveFact& fact : trace.collectives) {
    const std::optional<std::int64_t> begun_ns = fact.launch_ns ? fact.launch_ns : fact.start_ns;
    if (!begun_ns) continue;
    CollectiveSummary collective;
    collective.fact = fact;
    collective.step = step_at(trace.steps, *begun_ns);
    if (collective.step) {
      facts[*collective.step].collectives.push_back(&fact);
      const auto* members = fact.bucket >= 0 ? buckets.find(fact.bucket, *begun_ns) : nullptr;
      for (std::int64_t parameter : members ? *members : std::vector<std::int64_t>{}) {
        const auto grad = last_grads[*collective.step].find(parameter);
        if (grad != last_grads[*collective.step].end())
          collective.ready_ns = std::max(collective.ready_ns.value_or(grad->second), grad->second);
      }
    }
    summary.collectives.push_back(collective);
  }

  const Activity activity(trace);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    summary.steps.push_back(summarise_step(trace.steps[i], facts[i], activity, last_grads[i]));
    if (!trace.totals.empty()) use(trace.totals.at(i), summary.steps.back().row);
    const auto mean = [&](StepNumber what) -> std::optional<double> {
      const auto& [sum, count] = numbers[i][static_cast<std::size_t>(what)];
      return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
    };
    store::StepRow& row = summary.steps.back().row;
    row.loss = mean(StepNumber::loss);
    row.learning_rate = mean(StepNumber::learning_rate);
    row.local_gradient_sqr = mean(StepNumber::local_gradient_sqr);
    row.gradient_sqr = mean(StepNumber::gradient_sqr);
  }
  return summary;
}

}  // namespace ddpprof::ingest
