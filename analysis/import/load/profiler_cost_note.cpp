#include "analysis/import/load/profiler_cost_note.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <vector>

#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::import {
namespace {

// Returns each step's mean over the ranks, of the steps that all ranks have.
std::vector<double> step_times_s(std::span<const ingest::LoadedShard> shards, vocabulary::StepKind kind) {
  std::map<std::int64_t, std::vector<double>> by_number;
  for (const ingest::LoadedShard& shard : shards)
    for (const ingest::StepFact& step : shard.trace.steps)
      if (step.kind == kind)
        by_number[step.step].push_back(1e-9 * static_cast<double>(step.time.end_ns - step.time.start_ns));
  std::vector<double> means_s;
  for (const auto& [number, of_ranks] : by_number)
    if (of_ranks.size() == shards.size()) means_s.push_back(stats::mean(of_ranks));
  return means_s;
}

}  // namespace

std::optional<Note> note_on_profiler_cost(std::span<const ingest::LoadedShard> shards) {
  const std::vector<double> with = step_times_s(shards, vocabulary::StepKind::measured);
  const std::vector<double> without = step_times_s(shards, vocabulary::StepKind::untraced);
  if (with.empty() || without.empty()) return std::nullopt;
  const double with_s = stats::median(with), without_s = stats::median(without);
  return Note{ingest::Severity::info, "profiler_cost", static_cast<std::int64_t>(without.size()),
              fmt::format("a step takes {} without the profiler and {} with it ({:+.0f} %), as medians of {} and {} "
                          "steps of the same run",
                          units::format_quantity(without_s, "s"), units::format_quantity(with_s, "s"),
                          100.0 * (with_s / without_s - 1.0), without.size(), with.size()),
              "step times and predictions use the steps without the profiler; the parts of a step are those of the "
              "traced steps, and fits reduce their forward, backward and optimizer by this cost"};
}

}  // namespace ddpprof::import
