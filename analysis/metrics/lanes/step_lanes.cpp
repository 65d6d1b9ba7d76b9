#include "analysis/metrics/lanes/step_lanes.hpp"

#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

#include "analysis/metrics/lanes/layers.hpp"
#include "analysis/metrics/lanes/recorded_step.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"
#include "tracer/format/phase.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::metrics {
namespace {

using step::Lane;
using step::Segment;
using step::SegmentKind;
using step::StepLanes;

std::string name_of(const Collective& collective, std::int64_t workers) {
  std::string op = collective.op;
  std::replace(op.begin(), op.end(), '_', '-');
  if (workers == 1) op = "local " + op;
  if (!collective.unit.empty()) return op + " of " + collective.unit;
  return collective.bucket >= 0 ? op + " of bucket " + std::to_string(collective.bucket) : op;
}

// True on a GPU: the host launches work and continues, so its phases show neither compute nor waiting.
bool host_only_launches(const Recorded& step) { return step.device == "cuda"; }

bool inside(const Span& phase, std::int64_t at_ns) { return at_ns >= phase.begin_ns && at_ns <= phase.end_ns; }

// Adds the part of backward in which its thread only waits, and the copies after it.
void add_waits(const Recorded& step, const Phase& backward, std::vector<Layer>& layers) {
  std::int64_t from_ns = backward.time.begin_ns, to_ns = backward.time.begin_ns;
  bool launched = false;
  for (const Gradient& gradient : step.gradients)
    if (inside(backward.time, gradient.ready_ns)) from_ns = std::max(from_ns, gradient.ready_ns);
  for (const Collective& collective : step.collectives) {
    if (!inside(backward.time, collective.launch_ns)) continue;
    launched = true;
    from_ns = std::max(from_ns, collective.launch_ns);
    // A collective that did not end is waited for until backward ends, and nothing is copied back for it.
    to_ns = std::max(to_ns, collective.time ? collective.time->end_ns : backward.time.end_ns);
  }
  if (!launched) return;  // an earlier micro-batch: nothing is reduced
  to_ns = std::clamp(to_ns, from_ns, backward.time.end_ns);
  layers.push_back({{from_ns, to_ns}, "waiting to communicate", SegmentKind::other, 2, {}});
  layers.push_back({{to_ns, backward.time.end_ns}, "copies back", SegmentKind::own_copy, 2, {}});
}

// DataParallel's thread distributes work and waits while replicas run, so only the replicas' work is compute.
void add_replicas(const Recorded& step, const Phase& pass, std::vector<Layer>& layers) {
  std::optional<Span> window;
  const SegmentKind kind = pass.name == vocabulary::forward ? SegmentKind::forward : SegmentKind::backward;
  for (const Phase& part : step.phases) {
    if (part.name != "replica_" + pass.name || !inside(pass.time, part.time.begin_ns)) continue;
    if (!window) window = part.time;
    window->begin_ns = std::min(window->begin_ns, part.time.begin_ns);
    window->end_ns = std::max(window->end_ns, part.time.end_ns);
    layers.push_back({part.time, pass.name + " of the replicas", kind, 4, {}});
  }
  if (window) layers.push_back({*window, "between replicas", SegmentKind::other, 2, {}});
}

std::vector<Slice> thread_of(const Recorded& step) {
  static const std::map<std::string, std::pair<std::string, SegmentKind>> kinds = {
      {vocabulary::data_wait, {"input", SegmentKind::data}},
      {vocabulary::host_to_device, {"host to device", SegmentKind::data}},
      {vocabulary::buffers, {"buffers", SegmentKind::other}},
      {vocabulary::forward, {"forward", SegmentKind::forward}},
      {vocabulary::backward, {"backward", SegmentKind::backward}},
      {vocabulary::optimizer, {"optimizer", SegmentKind::optimizer}}};
  std::vector<Layer> layers = {{step.time(), "other", SegmentKind::other, 0, {}}};
  for (const Phase& phase : step.phases) {
    if (phase.lane != 0) continue;
    if (const auto found = kinds.find(phase.name); found != kinds.end())
      layers.push_back({phase.time, found->second.first, found->second.second, 1, phase.bytes});
    if (is_copy(trace::phase_named(phase.name)))
      layers.push_back({phase.time, phase.name, SegmentKind::copies, 3, phase.bytes});
    if (phase.name == vocabulary::backward && !host_only_launches(step)) add_waits(step, phase, layers);
    if (phase.name == vocabulary::forward || phase.name == vocabulary::backward) add_replicas(step, phase, layers);
  }
  return paint(layers, step.time());
}

using ForPart = std::function<void(SegmentKind kind, Span part)>;

// Splits a collective: waiting for slower ranks at its start, then overlapped or exposed parts.
void split(const Collective& collective, const std::vector<Span>& computes, Span window, const ForPart& part) {
  const Span whole = clip(*collective.time, window);
  const std::int64_t arrived_ns = std::min(whole.end_ns, collective.time->begin_ns + collective.skew_ns);
  if (arrived_ns > whole.begin_ns) part(SegmentKind::skew, {whole.begin_ns, arrived_ns});
  std::int64_t at_ns = std::max(whole.begin_ns, arrived_ns);
  for (const Span& compute : computes) {
    const Span both = clip(compute, {at_ns, whole.end_ns});
    if (both.end_ns <= both.begin_ns) continue;
    if (both.begin_ns > at_ns) part(SegmentKind::exposed, {at_ns, both.begin_ns});
    part(SegmentKind::overlapped, both);
    at_ns = both.end_ns;
  }
  if (whole.end_ns > at_ns) part(SegmentKind::exposed, {at_ns, whole.end_ns});
}

// Returns the intervals of compute: kernels on a GPU, otherwise phases of the thread. Empty if kernels were not kept.
std::optional<std::vector<Span>> computes_of(const Recorded& step, const std::vector<Slice>& thread) {
  std::vector<Span> all;
  for (const auto& [device, spans] : step.kernels) all.insert(all.end(), spans.begin(), spans.end());
  if (all.empty() && host_only_launches(step)) return std::nullopt;
  if (all.empty())
    for (const Slice& slice : thread)
      if (is_compute(slice.kind)) all.push_back(slice.time);
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Span> united;
  for (const Span& span : all) {
    if (!united.empty() && span.begin_ns <= united.back().end_ns)
      united.back().end_ns = std::max(united.back().end_ns, span.end_ns);
    else
      united.push_back(span);
  }
  return united;
}

// Replaces parts without compute by what the thread waits for.
std::vector<Slice> with_waiting(std::vector<Slice> thread, const Recorded& step) {
  std::vector<Layer> layers;
  for (const Slice& slice : thread) layers.push_back({slice.time, slice.name, slice.kind, 0, slice.bytes});
  for (const Slice& slice : thread) {
    if (is_compute(slice.kind) || slice.kind == SegmentKind::copies) continue;
    for (const Collective& collective : step.collectives) {
      if (!collective.time) continue;
      const bool gradients = collective.bucket >= 0;
      const Span flight = clip(*collective.time, slice.time);
      const Span late = clip({collective.time->begin_ns, collective.time->begin_ns + collective.skew_ns}, flight);
      if (flight.end_ns > flight.begin_ns)
        layers.push_back({flight,
                          gradients ? "waiting for all-reduces" : "waiting for " + name_of(collective, 2),
                          SegmentKind::exposed,
                          1,
                          {}});
      if (late.end_ns > late.begin_ns) layers.push_back({late, "waiting for slower ranks", SegmentKind::skew, 2, {}});
    }
  }
  return paint(layers, step.time());
}

Segment segment(std::string name, SegmentKind kind, Span span, std::optional<std::int64_t> bytes) {
  return {std::move(name), kind, units::ns_to_s(span.begin_ns), units::ns_to_s(span.end_ns), bytes};
}

Lane moments_of(const Recorded& step) {
  Lane lane{"gradients", {}};
  for (const Gradient& gradient : step.gradients)
    lane.segments.push_back(
        segment(gradient.name, SegmentKind::gradient, {gradient.ready_ns, gradient.ready_ns}, gradient.bytes));
  for (const Collective& collective : step.collectives)
    lane.segments.push_back(segment(name_of(collective, step.workers) + (collective.time ? "" : ", which did not end"),
                                    SegmentKind::launch, {collective.launch_ns, collective.launch_ns},
                                    collective.bytes));
  std::stable_sort(lane.segments.begin(), lane.segments.end(),
                   [](const Segment& a, const Segment& b) { return a.begin_s < b.begin_s; });
  return lane;
}

// Without `computes` each collective is one segment, because its overlap is unknown.
void add_collectives(StepLanes& out, const Recorded& step, const std::optional<std::vector<Span>>& computes) {
  std::vector<Lane> lanes;
  std::vector<std::int64_t> free_ns;
  for (const Collective& collective : step.collectives) {
    if (!collective.time) continue;
    std::size_t lane = 0;
    while (lane < free_ns.size() && free_ns[lane] > collective.time->begin_ns) ++lane;
    if (lane == free_ns.size()) {
      free_ns.push_back(0);
      lanes.push_back({"collectives " + std::to_string(lane + 1), {}});
    }
    free_ns[lane] = collective.time->end_ns;
    const std::string name = name_of(collective, step.workers);
    if (!computes) {
      const Span flight = clip(*collective.time, step.time());
      if (flight.end_ns > flight.begin_ns)
        lanes[lane].segments.push_back(segment(name + ", in flight", SegmentKind::other, flight, collective.bytes));
      continue;
    }
    split(collective, *computes, step.time(), [&](SegmentKind kind, Span part) {
      lanes[lane].segments.push_back(segment(kind == SegmentKind::skew ? name + ": waiting for slower ranks" : name,
                                             kind, part, collective.bytes));
    });
  }
  for (Lane& lane : lanes) out.lanes.push_back(std::move(lane));
}

// The units of a sharded training. Compute of the root surrounds that of the other units.
void add_units(StepLanes& out, const Recorded& step) {
  Lane compute{"units", {}}, copies{"copies of units", {}};
  for (const bool root : {true, false})
    for (const UnitPass& pass : step.units) {
      if (pass.root != root || pass.time.end_ns <= pass.time.begin_ns) continue;
      const std::string name = pass.copies     ? "copies of " + pass.unit
                               : pass.backward ? "backward of " + pass.unit
                                               : "forward of " + pass.unit;
      const SegmentKind kind = pass.copies     ? SegmentKind::own_copy
                               : pass.backward ? SegmentKind::backward
                                               : SegmentKind::forward;
      (pass.copies ? copies : compute).segments.push_back(segment(name, kind, pass.time, std::nullopt));
    }
  for (Lane* lane : {&compute, &copies})
    if (!lane->segments.empty()) out.lanes.push_back(std::move(*lane));
}

void add_other_threads(StepLanes& out, const Recorded& step) {
  std::map<std::int64_t, Lane> lanes;
  for (const Phase& phase : step.phases) {
    if (phase.lane == 0) continue;
    Lane& lane = lanes[phase.lane];
    if (lane.name.empty())
      lane.name =
          phase.lane > 0 ? "replica " + std::to_string(phase.lane - 1) : "loader " + std::to_string(-1 - phase.lane);
    const SegmentKind kind = phase.lane < 0                               ? SegmentKind::data
                             : phase.name == vocabulary::replica_backward ? SegmentKind::backward
                                                                          : SegmentKind::forward;
    const Span span = clip(phase.time, step.time());
    const std::string name = phase.lane < 0 ? "makes a batch" : kind == SegmentKind::forward ? "forward" : "backward";
    if (span.end_ns > span.begin_ns) lane.segments.push_back(segment(name, kind, span, phase.bytes));
  }
  for (auto& [number, lane] : lanes)
    if (number > 0) out.lanes.push_back(std::move(lane));
  for (auto lane = lanes.rbegin(); lane != lanes.rend(); ++lane)
    if (lane->first < 0) out.lanes.push_back(std::move(lane->second));
}

void add_kernels(StepLanes& out, const Recorded& step) {
  for (const auto& [device, spans] : step.kernels) {
    Lane lane{"GPU " + std::to_string(device) + " kernels", {}};
    for (const Span& span : spans)
      lane.segments.push_back(segment("kernels", SegmentKind::forward, span, std::nullopt));
    out.lanes.push_back(std::move(lane));
  }
}

std::string note_of(const Recorded& step) {
  if (step.phases.empty())
    return "This step has no records inside it: " + std::string(step.kind == "warmup"
                                                                    ? "phases are kept for measured steps only."
                                                                    : "it ran without tracing (measure.trace: false).");
  if (!host_only_launches(step)) return "";
  const std::string host = "The first lane is the host thread, which launches the work; ";
  if (!step.kernels.empty()) return host + "kernels have their own lanes.";
  return host + "this rank's kernels were not kept (set output.raw: all)" +
         (step.collectives.empty() ? "." : ". Overlapped and exposed communication of this rank are unknown.");
}

}  // namespace

StepLanes measured_lanes(store::Database& database, std::int64_t measurement, std::optional<std::int64_t> wanted,
                         std::optional<std::int64_t> number) {
  try {
    const std::int64_t chosen = number ? *number : typical_step(database, measurement);
    const std::int64_t rank = wanted ? *wanted : first_rank(database.sql(), measurement, chosen);
    const Recorded step = read_recorded(database.sql(), measurement, rank, chosen);
    StepLanes out;
    out.strategy = step.strategy;
    out.workers = step.workers;
    out.rank = rank;
    out.step = chosen;
    out.step_s = units::ns_to_s(step.duration_ns);
    out.note = note_of(step);
    const std::vector<Slice> thread = thread_of(step);
    const auto computes = computes_of(step, thread);
    Lane first{step.strategy == "dp" ? "device 0" : "rank " + std::to_string(rank), {}};
    for (const Slice& slice : host_only_launches(step) ? thread : with_waiting(thread, step))
      first.segments.push_back(segment(slice.name, slice.kind, slice.time, slice.bytes));
    out.lanes.push_back(std::move(first));
    if (Lane moments = moments_of(step); !moments.segments.empty()) out.lanes.push_back(std::move(moments));
    add_units(out, step);
    add_collectives(out, step, computes);
    add_kernels(out, step);
    add_other_threads(out, step);
    return out;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::metrics
