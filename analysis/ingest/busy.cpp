#include "analysis/ingest/busy.hpp"

#include <algorithm>

namespace ddpprof::ingest {
namespace {

bool contains(Interval interval, std::int64_t time_ns) {
  return time_ns >= interval.start_ns && time_ns <= interval.end_ns;
}

// Adds, for each phase `parent`, the time from the first replica's start to the last replica's end. In it the main
// thread hands out the work and waits. The caller adds replicas that run on the main thread again.
void add_replica_windows(const StepFacts& step, PhaseName parent, PhaseName replica, std::vector<Interval>& out) {
  for (const PhaseFact& phase : step.phases) {
    if (phase.name != parent) continue;
    std::optional<Interval> window;
    for (const PhaseFact& part : step.phases) {
      if (part.name != replica || !contains(phase.time, part.time.start_ns)) continue;
      if (!window) window = part.time;
      window->start_ns = std::min(window->start_ns, part.time.start_ns);
      window->end_ns = std::max(window->end_ns, part.time.end_ns);
    }
    if (window) out.push_back(*window);
  }
}

}  // namespace

std::int64_t cut_late_ends(ShardTrace& trace) {
  std::vector<Interval> backwards;  // by start, like the phases
  for (const PhaseFact& phase : trace.phases)
    if (phase.name == PhaseName::backward) backwards.push_back(phase.time);
  std::int64_t late = 0;
  for (CollectiveFact& collective : trace.collectives) {
    if (!collective.host_timed) continue;  // the host does not wait for NCCL's kernels
    if (collective.bucket < 0 || !collective.launch_ns || !collective.start_ns || !collective.end_ns) continue;
    const auto after = std::upper_bound(backwards.begin(), backwards.end(), *collective.launch_ns,
                                        [](std::int64_t t, const Interval& b) { return t < b.start_ns; });
    if (after == backwards.begin()) continue;
    const Interval& backward = *std::prev(after);
    if (*collective.launch_ns > backward.end_ns || *collective.end_ns <= backward.end_ns ||
        *collective.start_ns > backward.end_ns)
      continue;
    collective.end_ns = backward.end_ns;
    ++late;
  }
  return late;
}

IntervalSet collective_waits(const StepFacts& step) {
  std::vector<Interval> waits;
  for (const PhaseFact& phase : step.phases) {
    if (phase.name != PhaseName::backward) continue;
    std::int64_t from_ns = phase.time.start_ns, to_ns = phase.time.start_ns;
    for (const GradFact& grad : step.grads)
      if (contains(phase.time, grad.time_ns)) from_ns = std::max(from_ns, grad.time_ns);
    for (const CollectiveFact* collective : step.collectives) {
      if (!collective->launch_ns || !contains(phase.time, *collective->launch_ns)) continue;
      from_ns = std::max(from_ns, *collective->launch_ns);
      if (collective->end_ns) to_ns = std::max(to_ns, *collective->end_ns);
    }
    waits.push_back(
        {from_ns, std::min(to_ns, phase.time.end_ns)});  // reversed if nothing was launched: unite() drops it
  }
  return unite(std::move(waits));
}

IntervalSet host_copies(const StepFacts& step) {
  std::vector<Interval> copies;
  for (const PhaseFact& phase : step.phases)
    if (is_copy(phase.name)) copies.push_back(phase.time);
  return unite(std::move(copies));
}

IntervalSet host_compute(const StepFacts& step) {
  std::vector<Interval> main, replicas, windows;
  for (const PhaseFact& phase : step.phases) {
    if (phase.name == PhaseName::forward || phase.name == PhaseName::backward || phase.name == PhaseName::optimizer)
      main.push_back(phase.time);
    if (is_replica(phase.name)) replicas.push_back(phase.time);
  }
  add_replica_windows(step, PhaseName::forward, PhaseName::replica_forward, windows);
  add_replica_windows(step, PhaseName::backward, PhaseName::replica_backward, windows);
  IntervalSet busy = subtract(unite(std::move(main)), collective_waits(step));
  busy = subtract(subtract(busy, host_copies(step)), unite(std::move(windows)));
  return unite(busy, unite(std::move(replicas)));
}

IntervalSet input_waits(const StepFacts& step) {
  std::vector<Interval> waits;
  for (const PhaseFact& phase : step.phases)
    if (phase.name == PhaseName::data_wait || phase.name == PhaseName::host_to_device) waits.push_back(phase.time);
  return unite(std::move(waits));
}

Activity::Activity(const ShardTrace& trace)
    : has_kernels_(!trace.compute_kernels.empty() || !trace.nccl_kernels.empty()),
      // NCCL's plugin reports NCCL's kernels without CUPTI, and then other kernels are not recorded.
      has_compute_kernels_(!trace.compute_kernels.empty()),
      compute_kernels_(unite(trace.compute_kernels)),
      waits_(unite(trace.waits)),
      device_copies_(unite(trace.device_copies)),
      peer_copies_(unite(trace.peer_copies)) {
  std::vector<Interval> nccl;
  for (const NcclKernelFact& kernel : trace.nccl_kernels) nccl.push_back(kernel.time);
  nccl_kernels_ = unite(std::move(nccl));
  std::vector<Interval> in_flight;
  for (const CollectiveFact& collective : trace.collectives)
    if (collective.host_timed && collective.start_ns && collective.end_ns)
      in_flight.push_back({*collective.start_ns, *collective.end_ns});
  host_timed_ = unite(std::move(in_flight));
}

IntervalSet Activity::compute(const StepFacts& step) const {
  return has_kernels_ ? clip(compute_kernels_, step.time)
                      : subtract(clip(host_compute(step), step.time), clip(waits_, step.time));
}

IntervalSet Activity::communication(const StepFacts& step) const {
  const IntervalSet in_flight = clip(host_timed_, step.time);
  if (!has_kernels_) return unite(in_flight, clip(host_copies(step), step.time));
  // On a GPU the host's copy ranges are only launches; the copies of DataParallel are the peer copies.
  const IntervalSet copies = host_copies(step).empty() ? IntervalSet{} : clip(peer_copies_, step.time);
  // With Gloo on a GPU the host times collectives. NCCL's collectives are kernels. A step may have both.
  return unite(unite(in_flight, clip(nccl_kernels_, step.time)), copies);
}

std::optional<std::int64_t> Activity::device_idle_ns(const StepFacts& step, const IntervalSet& compute,
                                                     const IntervalSet& communication) const {
  if (!has_compute_kernels_) return std::nullopt;
  const IntervalSet busy = unite(unite(compute, communication), clip(device_copies_, step.time));
  return step.time.end_ns - step.time.start_ns - total_ns(unite(busy, clip(input_waits(step), step.time)));
}

}  // namespace ddpprof::ingest
