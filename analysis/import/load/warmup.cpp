#include "analysis/import/load/warmup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "simulator/stats/warmup.hpp"

namespace ddpprof::import {
namespace {

using ingest::LoadedShard;

// Limit of steps until DDP's buckets are final: after the first step, with a static graph one or two steps later. A
// message that occurs only in a later step (an evaluation) does not mark a warm-up.
constexpr std::size_t most_by_messages = 4;

struct JobStep {
  std::size_t ranks = 0;
  double sum_s = 0.0;
};

// Returns for each step number the bytes of the messages launched in the step, in their order.
std::map<std::int64_t, std::vector<std::int64_t>> messages(const ingest::ShardTrace& trace) {
  std::vector<std::pair<std::int64_t, std::int64_t>> sent;  // launch, bytes
  for (const ingest::CollectiveFact& collective : trace.collectives)
    if (collective.launch_ns) sent.emplace_back(*collective.launch_ns, collective.bytes);
  std::stable_sort(sent.begin(), sent.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<std::int64_t, std::vector<std::int64_t>> found;
  auto next = sent.begin();
  for (const ingest::StepFact& step : trace.steps) {  // ordered by start
    std::vector<std::int64_t>& own = found[step.step];
    for (; next != sent.end() && next->first <= step.time.end_ns; ++next)
      if (next->first >= step.time.start_ns) own.push_back(next->second);
  }
  return found;
}

}  // namespace

std::optional<Note> mark_warmup(std::span<LoadedShard> shards) {
  std::map<std::int64_t, JobStep> by_number;
  for (const LoadedShard& shard : shards)
    for (const ingest::StepFact& step : shard.trace.steps) {
      JobStep& own = by_number[step.step];
      ++own.ranks;
      own.sum_s += 1e-9 * static_cast<double>(step.time.end_ns - step.time.start_ns);
    }
  std::vector<std::int64_t> numbers;
  std::vector<double> times_s;
  for (const auto& [number, step] : by_number)
    if (step.ranks == shards.size()) {
      numbers.push_back(number);
      times_s.push_back(step.sum_s / static_cast<double>(step.ranks));
    }
  // If the recording began later on the user's request, its first steps count.
  const bool bounded =
      std::any_of(shards.begin(), shards.end(), [](const LoadedShard& shard) { return shard.trace.info.bounds.asked; });
  if (bounded && !numbers.empty() && numbers.front() > 0) return std::nullopt;
  const std::size_t most = numbers.size() / 2;
  const stats::WarmupEnd end = times_s.size() < 2 ? stats::WarmupEnd{} : stats::warmup_end(times_s);
  std::size_t cut = end.settled ? end.steps : 0;
  for (const LoadedShard& shard : shards) {
    const std::map<std::int64_t, std::vector<std::int64_t>> sent = messages(shard.trace);
    std::size_t first = numbers.size();  // from this step on all steps send what the last step sends
    while (first > 0 && sent.at(numbers[first - 1]) == sent.at(numbers.back())) --first;
    if (first <= std::min(most, most_by_messages)) cut = std::max(cut, first);
  }
  if (cut == 0 || cut > most) return std::nullopt;
  for (LoadedShard& shard : shards)
    for (ingest::StepFact& step : shard.trace.steps)
      if (step.step < numbers[cut]) step.kind = vocabulary::StepKind::warmup;
  return Note{ingest::Severity::info, "warmup_recognised", static_cast<std::int64_t>(cut),
              fmt::format("the first {} differ{} from the following steps and count{} as warm-up",
                          cut == 1 ? "step" : fmt::format("{} steps", cut), cut == 1 ? "s" : "", cut == 1 ? "s" : ""),
              ""};
}

}  // namespace ddpprof::import
