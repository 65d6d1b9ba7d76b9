#include "analysis/import/trace/job/job_steps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

// Returns the steps that were inserted.
std::vector<ingest::StepFact> insert_before(const UntracedSteps& untraced, vocabulary::StepKind kind,
                                            std::int64_t base_ns, std::int64_t samples, ingest::ShardTrace& shard) {
  std::vector<ingest::StepFact> steps;
  if (shard.steps.empty() || untraced.durations_ns.empty()) return steps;
  std::int64_t all_ns = 0;
  for (const std::int64_t duration_ns : untraced.durations_ns) all_ns = sum_of(all_ns, duration_ns);
  if (all_ns > longest_ns) return steps;
  std::int64_t start_ns = std::min(untraced.begin_ns - base_ns, shard.steps.front().time.start_ns - all_ns);
  for (const std::int64_t duration_ns : untraced.durations_ns) {
    const auto number = untraced.first + static_cast<std::int64_t>(steps.size());
    steps.push_back({number, kind, samples, {start_ns, start_ns + duration_ns}});
    start_ns += duration_ns;
  }
  if (!shard.totals.empty()) shard.totals.insert(shard.totals.begin(), steps.size(), {});
  shard.steps.insert(shard.steps.begin(), steps.begin(), steps.end());
  return steps;
}

std::int64_t mean_samples(const std::vector<ingest::StepFact>& steps) {
  double sum = 0.0;
  for (const ingest::StepFact& step : steps) sum += static_cast<double>(step.samples);
  return steps.empty() ? 0 : std::llround(sum / static_cast<double>(steps.size()));
}

}  // namespace

void add_job_steps(const JobFacts& job, std::int64_t base_ns, ingest::ShardTrace& shard) {
  const std::int64_t samples = mean_samples(shard.steps);
  insert_before(job.untraced, vocabulary::StepKind::untraced, base_ns, samples, shard);
  const std::vector<ingest::StepFact> steps =
      insert_before(job.norms.steps, vocabulary::StepKind::warmup, base_ns, samples, shard);
  std::vector<ingest::NumberFact> numbers;  // by time
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& local = job.norms.local_sqr[i];
    const auto& whole = job.norms.whole_sqr[i];
    if (!local || !whole) continue;
    const std::int64_t middle_ns = steps[i].time.start_ns + (steps[i].time.end_ns - steps[i].time.start_ns) / 2;
    numbers.push_back({ingest::StepNumber::local_gradient_sqr, middle_ns, *local});
    numbers.push_back({ingest::StepNumber::gradient_sqr, middle_ns, *whole});
  }
  shard.numbers.insert(shard.numbers.begin(), numbers.begin(), numbers.end());
}

}  // namespace ddpprof::import
