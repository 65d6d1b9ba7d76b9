#include "analysis/import/trace/steps/lost_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace ddpprof::import {
namespace {

struct LostLaunches {
  std::int64_t count = 0;
  std::set<const HostStep*> in, after;  // steps with such launches, and steps that follow one
};

LostLaunches lost_launches(const SliceStore& slices, const std::vector<HostStep>& steps) {
  LostLaunches lost;
  auto step = steps.begin();
  slices.for_each_lost_launch([&](std::int64_t at_ns) {
    while (step != steps.end() && step->time.end_ns <= at_ns) ++step;
    if (step == steps.end() || at_ns < step->time.start_ns) return;
    ++lost.count;
    lost.in.insert(&*step);
    if (step + 1 != steps.end()) lost.after.insert(&*(step + 1));
  });
  return lost;
}

// Removes the steps for which `cut` returns true, if others remain.
bool leave_out(const std::function<bool(const HostStep*)>& cut, std::vector<const HostStep*>& placed,
               std::vector<ingest::StepFact>& facts) {
  if (std::ranges::all_of(placed, cut)) return false;
  std::vector<const HostStep*> kept;
  std::vector<ingest::StepFact> kept_facts;
  for (std::size_t i = 0; i < placed.size(); ++i)
    if (!cut(placed[i])) {
      kept.push_back(placed[i]);
      kept_facts.push_back(facts[i]);
    }
  placed = std::move(kept);
  facts = std::move(kept_facts);
  return true;
}

}  // namespace

CutSteps leave_out_cut_steps(const SliceStore& slices, const std::vector<HostStep>& steps,
                             std::vector<const HostStep*>& placed, std::vector<ingest::StepFact>& facts) {
  const LostLaunches lost = lost_launches(slices, steps);
  CutSteps cut;
  if (lost.count == 0) return cut;
  cut.without_work = std::ranges::count_if(
      lost.in, [&](const HostStep* step) { return std::ranges::find(placed, step) == placed.end(); });
  const auto has_lost = [&](const HostStep* step) { return lost.in.contains(step); };
  cut.all = !leave_out([&](const HostStep* step) { return has_lost(step) || lost.after.contains(step); }, placed, facts) &&
            !leave_out(has_lost, placed, facts);
  cut.notes.push_back(
      {ingest::Severity::warning, "kernels_lost", lost.count,
       fmt::format("{} kernels that the host launched in {} of {} steps were not recorded: the profiler lost them or "
                   "stopped before they ran{}",
                   lost.count, lost.in.size(), steps.size(),
                   cut.all ? ". No step is whole, so compute, communication and step times are too short"
                           : ", or they were captured into a CUDA graph"),
       cut.all ? "record again with fewer steps, without record_shapes, with_stack and profile_memory; predictions "
                 "have the error of these times"
               : "these steps are left out, and the steps after them, whose start is unknown. Record again with fewer "
                 "steps if too few are left"});
  return cut;
}

}  // namespace ddpprof::import
