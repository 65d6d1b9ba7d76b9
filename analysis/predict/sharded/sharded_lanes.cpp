#include "analysis/predict/sharded/sharded_lanes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analysis/predict/sharded/sharded_model.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::fit {
namespace {

using step::Lane;
using step::Segment;
using step::SegmentKind;
using strategy::ShardedActivity;
using strategy::ShardedWork;

bool is_compute_of_unit(const ShardedActivity& one) {
  return one.work == ShardedWork::forward || one.work == ShardedWork::backward;
}

std::string unit_label(const UnitTimes& unit) { return unit.root ? "the root" : unit.name; }

// Appends a segment to the first lane, whose segments have no gaps.
void append_segment(Lane& lane, std::string name, SegmentKind kind, double seconds) {
  if (!(seconds > 0.0)) return;
  const double begin_s = lane.segments.empty() ? 0.0 : lane.segments.back().end_s;
  lane.segments.push_back({std::move(name), kind, begin_s, begin_s + seconds, std::nullopt});
}

// Adds the parts of a collective that compute hides, and the exposed parts.
void add_collective(Lane& lane, const std::string& name, const ShardedActivity& one, std::int64_t bytes,
                    const std::vector<ShardedActivity>& all) {
  double at_s = one.begin_s;
  const auto part = [&](SegmentKind kind, double until_s) {
    if (until_s > at_s) lane.segments.push_back({name, kind, at_s, until_s, bytes});
    at_s = std::max(at_s, until_s);
  };
  for (const ShardedActivity& other : all) {
    if (!is_compute_of_unit(other) || other.end_s <= at_s || other.begin_s >= one.end_s) continue;
    part(SegmentKind::exposed, other.begin_s);
    part(SegmentKind::overlapped, std::min(other.end_s, one.end_s));
  }
  part(SegmentKind::exposed, one.end_s);
}

}  // namespace

step::StepLanes simulated_sharded_lanes(SQLite::Database& sql, std::int64_t workers, const PredictOptions& options) {
  ShardedJob job = sharded_job(sql);
  if (job.measured.empty())
    throw std::invalid_argument("This file has no sharded training that can be simulated: see the report sharding.");
  const ShardedModels models(sql, std::move(job), options);
  const ShardedModel& model = models.model(workers, options);
  if (const std::string reason = models.refusal(workers, options); !reason.empty()) throw std::invalid_argument(reason);
  if (!model.base()) throw std::invalid_argument("no measurement of these links");
  const std::vector<UnitTimes>& units = model.base()->units;
  const std::vector<ShardedActivity> all = strategy::activities(model.simulated(workers));
  const Terms terms = model.modelled(workers);

  step::StepLanes out;
  out.strategy = "fsdp";
  out.workers = workers;
  out.simulated = true;
  Lane rank{"rank", {}}, gathers{"all-gathers", {}}, scatters{"reduce-scatters", {}};
  double computed_s = 0.0, waited_s = 0.0;
  for (const ShardedActivity& one : all) {
    const UnitTimes& unit = units[one.unit];
    if (!is_compute_of_unit(one)) {
      const bool gather = one.work == ShardedWork::gather;
      add_collective(gather ? gathers : scatters, (gather ? "all-gather of " : "reduce-scatter of ") + unit_label(unit),
                     one, gather ? unit.gathered_bytes : unit.scattered_bytes, all);
      continue;
    }
    const double idle_s = one.begin_s - (rank.segments.empty() ? 0.0 : rank.segments.back().end_s);
    append_segment(rank, "waiting for collectives", SegmentKind::exposed, idle_s);
    const bool forward = one.work == ShardedWork::forward;
    append_segment(rank, (forward ? "forward of " : "backward of ") + unit_label(unit),
                   forward ? SegmentKind::forward : SegmentKind::backward, one.end_s - one.begin_s);
    waited_s += std::max(0.0, idle_s);
    computed_s += one.end_s - one.begin_s;
  }
  double end_s = 0.0;
  for (const ShardedActivity& one : all) end_s = std::max(end_s, one.end_s);
  const double last_s = end_s - (rank.segments.empty() ? 0.0 : rank.segments.back().end_s);
  append_segment(rank, "waiting for collectives", SegmentKind::exposed, last_s);
  waited_s += std::max(0.0, last_s);
  append_segment(rank, "optimizer", SegmentKind::optimizer, terms.compute_s - computed_s);
  append_segment(rank, "waiting for slower ranks", SegmentKind::skew, terms.skew_s);
  append_segment(rank, "other", SegmentKind::other, terms.other_s);
  append_segment(rank, "exposed communication that the simulation does not explain", SegmentKind::not_modelled,
                 terms.exposed_s - waited_s);
  out.step_s = rank.segments.empty() ? 0.0 : rank.segments.back().end_s;
  if (terms.step_s() < 0.99 * out.step_s)
    out.note = "The measured steps expose less communication than the simulation: the prediction is " +
               units::format_quantity(terms.step_s(), "s") + ".";
  out.lanes = {std::move(rank)};
  for (Lane* lane : {&gathers, &scatters})
    if (!lane->segments.empty()) out.lanes.push_back(std::move(*lane));
  return out;
}

}  // namespace ddpprof::fit
