#include "analysis/fit/measured/pool.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/fit/measured/step_shares.hpp"
#include "analysis/fit/measured/workloads.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// The parts of one rank's step, in seconds.
struct Parts {
  double data, buffers, forward, backward, tail, optimizer;
  double before;  // outside of every phase, before the last backward: it delays the gradients and is not compute
  double after;   // from the last gradient to the end of the last collective
  double compute() const { return forward + backward + optimizer; }
};

Parts split(const StepInfo& step, bool ddp, std::optional<std::int64_t> last_collective_end_ns) {
  Parts parts{};
  parts.data = seconds(step.data_ns);
  parts.buffers = seconds(step.buffers_ns);
  parts.optimizer = seconds(step.optimizer_ns);
  if (!ddp) {
    parts.forward = seconds(step.forward_ns);
    parts.backward = seconds(step.backward_ns);
    // Copies may be recorded inside the forward and backward phases or between them. They are inside if all phases
    // together exceed the step; compute is then the rest of the phases.
    const double copies = seconds(step.copy_ns);
    const double both = parts.forward + parts.backward;
    const double spare = seconds(step.duration_ns) - parts.data - parts.buffers - both - parts.optimizer;
    if (both > copies && spare < 0.5 * copies) {
      parts.forward *= (both - copies) / both;
      parts.backward *= (both - copies) / both;
    }
    return parts;
  }
  if (!step.backward_start_ns) {
    // Without phases, backward's compute is the compute time without forward and optimizer. On a device, all three
    // include the time between kernels.
    parts.forward = seconds(step.forward_ns);
    const double left = step.device_idle_ns ? seconds(step.backward_ns - step.exposed_ns)
                                            : seconds(step.compute_ns) - parts.forward - parts.optimizer;
    parts.backward = std::clamp(left > 0.0 ? left : seconds(step.backward_ns), 0.0, seconds(step.backward_ns));
    parts.after = seconds(step.backward_ns) - parts.backward;
    return parts;
  }
  parts.forward =
      std::max(0.0, seconds(*step.backward_start_ns - step.early_optimizer_ns) - parts.data - parts.buffers);
  // A script that waits, logs or reads files between its phases does not compute. On a device the host may run ahead, and
  // the time between phases is that of launches.
  if (!step.device_idle_ns && step.forward_ns > 0) {
    const double phases = seconds(step.forward_ns + step.backward_ns - step.last_backward_ns);
    parts.before = std::max(0.0, parts.forward - phases);
    parts.forward -= parts.before;
  }
  const std::int64_t end_ns = *step.backward_start_ns + step.last_backward_ns;
  std::int64_t computed_ns = step.last_ready_ns.value_or(end_ns);
  if (!step.last_ready_ns && last_collective_end_ns) {
    // With communication but without gradient times, backward's compute is the phase without the exposed part.
    const double left = step.device_idle_ns ? seconds(step.last_backward_ns - step.exposed_ns)
                                            : seconds(step.compute_ns) - parts.forward - parts.optimizer;
    computed_ns = *step.backward_start_ns + static_cast<std::int64_t>(std::max(0.0, left) * 1e9);
  }
  computed_ns = std::clamp(computed_ns, *step.backward_start_ns, end_ns);
  parts.backward = seconds(computed_ns - *step.backward_start_ns);
  const std::int64_t last_ns = std::max(computed_ns, last_collective_end_ns.value_or(computed_ns));
  parts.after = seconds(std::min(last_ns, end_ns) - computed_ns);
  parts.tail = std::max(0.0, seconds(end_ns - last_ns));
  return parts;
}

// Exposed communication that does not follow the last gradient. Communication between the kernels of backward is
// exposed, and the device is not idle. After backward it is the phase's tail.
double exposed_between_s(const StepInfo& step, const Parts& parts) {
  const double after_s = seconds(step.last_backward_ns) - parts.backward - parts.tail;
  return std::max(0.0, seconds(step.exposed_ns) - std::max(0.0, after_s));
}

// Takes the exposed part of other collectives than the last backward's buckets out of the parts and the gap. Returns
// it. What they have in common with compute is not exposed, so of both the smaller time is taken.
double take_others(const StepInfo& step, double between_s, Parts& parts, double& gap_s) {
  const double ran_s = seconds(step.others_before_ns + step.others_in_ns + step.others_after_ns);
  if (!(ran_s > 0.0)) return 0.0;
  const double share = std::min(1.0, between_s / ran_s);
  double taken_s = 0.0;
  for (const auto& [part_s, others_ns] : {std::pair{&parts.forward, step.others_before_ns},
                                          {&parts.backward, step.others_in_ns},
                                          {&gap_s, step.others_after_ns}}) {
    const double own_s = std::clamp(share * seconds(others_ns), 0.0, std::max(0.0, *part_s));
    *part_s -= own_s;
    taken_s += own_s;
  }
  return taken_s;
}

// The parts of forward, backward and optimizer in which the device runs no kernel and does not copy, and in which it
// only copies, as shares of them; and the part of the time outside of them in which the device waits for launches.
// `between_s`: exposed communication in them.
struct Idle {
  double share = 0.0, copies_share = 0.0, gap_s = 0.0;
};

Idle idle_of(const StepInfo& step, const Parts& parts, double gap_s, double between_s) {
  const double compute_s = parts.compute();
  if (!step.device_idle_ns || !(compute_s > 0.0)) return {};
  const double idle_s = seconds(*step.device_idle_ns);
  const double without_kernel_s = std::max(0.0, compute_s - seconds(step.compute_ns));
  const double inside_s = std::clamp(without_kernel_s - between_s, 0.0, idle_s);
  constexpr double most = 0.999;  // a phase has kernels
  const double share = std::min(most, std::min(without_kernel_s, inside_s + between_s) / compute_s);
  const double copies_s = std::max(0.0, without_kernel_s - inside_s - between_s);
  return {share, std::min(copies_s / compute_s, most - share),
          std::clamp(idle_s - inside_s, 0.0, std::max(0.0, gap_s))};
}

}  // namespace

double median_or(const std::vector<double>& values, double otherwise) {
  return values.empty() ? otherwise : stats::median(values);
}

void add_steps(Pool& pool, const std::vector<StepInfo>& steps, const std::vector<CollectiveInfo>& collectives) {
  const bool ddp = pool.profile.strategy == "ddp";
  std::map<std::int64_t, std::int64_t> collective_end_ns;  // by step
  for (const CollectiveInfo& collective : collectives) {
    if (!collective.end_ns) continue;
    auto& end_ns = collective_end_ns.try_emplace(collective.step_id, *collective.end_ns).first->second;
    end_ns = std::max(end_ns, *collective.end_ns);
  }
  pool.compute_repeats.emplace_back();
  pool.profile.step_repeats.emplace_back();
  // By step index: each rank's. Of the steps that were timed without a profiler, if there are any.
  std::map<std::int64_t, std::vector<double>> step_s;
  const bool timed_without = std::ranges::any_of(steps, &StepInfo::untraced);
  std::map<std::int64_t, std::vector<double>> reach_s;  // by step index: each rank's forward + backward
  std::map<std::int64_t, std::vector<double>> compute_by_rank;
  for (const auto& [index, shares] : shares_of_steps(steps, collectives, ddp, pool.profile.machine.workers > 1))
    pool.shares.push_back(shares);
  for (const StepInfo& step : steps) {
    if (step.unwrapped) {
      pool.unwrapped.push_back(seconds(step.duration_ns - step.data_ns));
      continue;
    }
    if (step.untraced == timed_without) step_s[step.step].push_back(seconds(step.duration_ns));
    if (step.untraced) continue;
    std::optional<std::int64_t> last_end_ns;
    if (const auto end = collective_end_ns.find(step.id); end != collective_end_ns.end()) {
      last_end_ns = end->second - step.start_ns;
    }
    Parts parts = split(step, ddp, last_end_ns);
    const double rest = ddp ? seconds(step.last_backward_ns) : parts.backward + seconds(step.copy_ns);
    double gap_s = seconds(step.duration_ns) - parts.data - parts.buffers - parts.forward - rest - parts.optimizer;
    const double between_s = ddp ? exposed_between_s(step, parts) : 0.0;
    const double others_s = ddp ? take_others(step, between_s, parts, gap_s) : 0.0;
    const double others_wait_s = std::min(others_s, seconds(step.others_skew_ns));
    pool.others.push_back(others_s - others_wait_s);
    pool.others_wait.push_back(others_wait_s);
    pool.data.push_back(parts.data);
    pool.buffers.push_back(parts.buffers);
    pool.forward.push_back(parts.forward);
    pool.backward.push_back(parts.backward);
    pool.tail.push_back(parts.tail);
    pool.calls_alone.push_back(pool.profile.machine.workers == 1 ? parts.after : 0.0);
    pool.optimizer.push_back(parts.optimizer);
    pool.gap.push_back(gap_s);
    const Idle idle = idle_of(step, parts, gap_s, between_s - others_s);
    pool.idle_share.push_back(idle.share);
    pool.copies_share.push_back(idle.copies_share);
    pool.idle_gap.push_back(idle.gap_s);
    const double compute = parts.compute();
    pool.compute_repeats.back().push_back(compute);
    pool.communication.push_back(seconds(ddp ? step.communication_ns : step.copy_ns));
    pool.exposed.push_back(seconds(ddp ? step.exposed_ns : step.copy_ns));
    pool.waited.push_back(seconds(step.skew_ns));
    pool.overlapped.push_back(seconds(step.overlapped_ns));
    pool.samples.push_back(static_cast<double>(step.samples));
    compute_by_rank[step.rank].push_back(compute);
    reach_s[step.step].push_back(parts.before + parts.forward + parts.backward);
  }
  for (const auto& [index, of_ranks] : step_s) pool.profile.step_repeats.back().push_back(stats::mean(of_ranks));
  const std::vector<double>& of_repeat = pool.profile.step_repeats.back();
  pool.profile.step_s.insert(pool.profile.step_s.end(), of_repeat.begin(), of_repeat.end());
  std::map<std::int64_t, const StepInfo*> by_id;
  for (const StepInfo& step : steps) by_id[step.id] = &step;
  // Waiting of a rank inside collectives, by step index and bucket. Ranks that compute equally long may still arrive at
  // different times, because they started at different times or shared a core.
  std::map<std::int64_t, std::map<std::int64_t, std::vector<double>>> waited_s;
  for (const CollectiveInfo& collective : collectives) {
    const auto step = by_id.find(collective.step_id);
    if (step != by_id.end()) waited_s[step->second->step][collective.bucket].push_back(seconds(collective.skew_ns));
  }
  for (const auto& [index, reached] : reach_s) {
    if (reached.size() < 2 && !waited_s.contains(index)) continue;
    double late_s = *std::max_element(reached.begin(), reached.end()) - stats::median(reached);
    if (const auto buckets = waited_s.find(index); buckets != waited_s.end()) {
      for (const auto& [bucket, waits] : buckets->second) late_s = std::max(late_s, stats::median(waits));
    }
    pool.straggler.push_back(late_s);
  }
  std::vector<double> centers;
  for (const auto& [rank, computes] : compute_by_rank) {
    const double center = stats::median(computes);
    centers.push_back(center);
    if (center <= 0.0) continue;
    for (const double compute : computes) pool.jitter.push_back(compute / center - 1.0);
  }
  if (centers.size() > 1) pool.slowest_rank.push_back(*std::ranges::max_element(centers) - stats::median(centers));
  for (const CollectiveInfo& collective : collectives) {
    const auto step = by_id.find(collective.step_id);
    if (step == by_id.end() || !step->second->backward_start_ns) continue;
    const std::int64_t ready_ns = collective.ready_ns.value_or(collective.launch_ns);
    pool.bucket_ready[collective.bucket].push_back(
        seconds(ready_ns - step->second->start_ns - *step->second->backward_start_ns));
    pool.bucket_bytes[collective.bucket] = collective.bytes;
  }
}

void add_other_collectives(Pool& pool, std::vector<StepInfo>& steps, const std::vector<OtherCollective>& all) {
  std::map<std::int64_t, StepInfo*> by_id;
  for (StepInfo& step : steps) by_id[step.id] = &step;
  std::int64_t step_id = 0, until_ns = 0;
  for (const OtherCollective& one : all) {
    const auto found = by_id.find(one.step_id);
    if (found == by_id.end()) continue;
    StepInfo& step = *found->second;
    if (one.step_id != step_id) until_ns = step.start_ns;
    step_id = one.step_id;
    // Collectives of two streams may run at the same time.
    const std::int64_t from_ns = std::max(one.start_ns, until_ns) - step.start_ns;
    const std::int64_t to_ns = std::min(one.end_ns - step.start_ns, step.duration_ns);
    until_ns = std::max(until_ns, one.end_ns);
    const std::int64_t backward_ns = step.backward_start_ns.value_or(step.duration_ns);
    const std::int64_t after_ns = backward_ns + (step.backward_start_ns ? step.last_backward_ns : 0);
    const auto within = [&](std::int64_t begin_ns, std::int64_t end_ns) {
      return std::max<std::int64_t>(0, std::min(to_ns, end_ns) - std::max(from_ns, begin_ns));
    };
    step.others_before_ns += within(0, backward_ns);
    step.others_in_ns += within(backward_ns, after_ns);
    step.others_after_ns += within(after_ns, step.duration_ns);
    step.others_skew_ns += one.skew_ns;
    if (one.bytes > 0) ++pool.other_messages[one.bytes];
  }
}

StepProfile condense(Pool& pool) {
  StepProfile profile = std::move(pool.profile);
  profile.samples_per_worker = median_or(pool.samples, 0.0);
  if (profile.strategy == "dp") profile.samples_per_worker /= static_cast<double>(profile.machine.workers);
  profile.shares = mean_of(pool.shares);
  profile.data_s = median_or(pool.data, 0.0);
  profile.buffers_s = median_or(pool.buffers, 0.0);
  profile.forward_s = median_or(pool.forward, 0.0);
  profile.backward_s = median_or(pool.backward, 0.0);
  profile.tail_s = median_or(pool.tail, 0.0);
  profile.calls_alone_s = median_or(pool.calls_alone, 0.0);
  profile.optimizer_s = median_or(pool.optimizer, 0.0);
  profile.gap_s = median_or(pool.gap, 0.0);
  profile.idle_share = median_or(pool.idle_share, 0.0);
  profile.copies_share = std::clamp(median_or(pool.copies_share, 0.0), 0.0, 0.999 - profile.idle_share);
  profile.idle_gap_s = std::clamp(median_or(pool.idle_gap, 0.0), 0.0, std::max(0.0, profile.gap_s));
  profile.step_noise = summarise(profile.step_repeats).relative_error;
  profile.compute_noise = summarise(pool.compute_repeats).relative_error;
  profile.step_jitter = pool.jitter.size() > 1 ? stats::mad_sigma(pool.jitter) : 0.0;
  profile.straggler_s = median_or(pool.straggler, 0.0);
  profile.slowest_rank_s = median_or(pool.slowest_rank, 0.0);
  profile.unwrapped_s = median_or(pool.unwrapped, 0.0);
  profile.overlapped_s = median_or(pool.overlapped, 0.0);
  profile.communication_s = median_or(pool.communication, 0.0);
  profile.exposed_s = median_or(pool.exposed, 0.0);
  profile.waited_s = median_or(pool.waited, 0.0);
  profile.others_s = median_or(pool.others, 0.0);
  profile.others_wait_s = median_or(pool.others_wait, 0.0);
  for (const auto& [bytes, count] : pool.other_messages)
    profile.others.push_back({bytes, static_cast<double>(count) / static_cast<double>(pool.others.size())});
  for (const auto& [bucket, ready] : pool.bucket_ready) {
    const double ready_s = std::max(0.0, stats::median(ready));
    profile.buckets.push_back({pool.bucket_bytes[bucket], ready_s});
  }
  if (profile.buckets.empty()) profile.buckets = std::move(pool.buckets_from_parameters);
  return profile;
}

std::size_t ranks_of_import(const std::vector<StepInfo>& steps, const MeasurementInfo& info) {
  if (info.kind != "import") return 0;
  std::set<std::int64_t> ranks;
  for (const StepInfo& step : steps) ranks.insert(step.rank);
  return ranks.size();
}

std::vector<StepInfo> complete_steps(const std::vector<StepInfo>& all, const MeasurementInfo& info,
                                     Measured& measured) {
  std::map<std::pair<bool, std::int64_t>, std::set<std::int64_t>> ranks;  // steps of a process have different numbers
  for (const StepInfo& step : all) ranks[{step.unwrapped, step.step}].insert(step.rank);
  auto expected = static_cast<std::size_t>(info.strategy == "ddp" ? info.machine.workers : 1);
  // The imported ranks represent all ranks (unseen_waits.hpp).
  if (const std::size_t imported = ranks_of_import(all, info); imported > 0) expected = std::min(expected, imported);
  std::vector<StepInfo> complete;
  for (const StepInfo& step : all)
    if (ranks.at({step.unwrapped, step.step}).size() >= expected) complete.push_back(step);
  const auto short_of =
      std::count_if(ranks.begin(), ranks.end(), [&](const auto& one) { return one.second.size() < expected; });
  if (short_of > 0)
    measured.warnings.push_back(name_of(info) + ": " + std::to_string(short_of) +
                                (short_of == 1 ? " step was not recorded by every rank and is not used"
                                               : " steps were not recorded by every rank and are not used") +
                                "; record the same steps on all ranks to use them");
  return complete;
}

bool has_measured_step(const std::vector<StepInfo>& steps) {
  return std::ranges::any_of(steps, [](const StepInfo& step) { return !step.unwrapped && !step.untraced; });
}

void set_setting(StepProfile& profile, const MeasurementInfo& info) {
  profile.strategy = info.strategy;
  profile.machine = info.machine;
  profile.parameter_bytes = info.parameter_bytes;
  profile.element_bytes = element_bytes_of(info);
  profile.accumulation = info.accumulation;
  profile.batch_per_worker = info.batch_per_worker;
}

bool same_setting(const StepProfile& profile, const MeasurementInfo& info) {
  const Machine& a = profile.machine;
  const Machine& b = info.machine;
  return a.threads_per_rank == b.threads_per_rank && a.cores == b.cores && a.nodes == b.nodes &&
         a.machines == b.machines && profile.parameter_bytes == info.parameter_bytes;
}

}  // namespace ddpprof::fit
