#include "analysis/predict/standard_changes.hpp"

#include <algorithm>
#include <stdexcept>

#include "analysis/predict/predictor.hpp"

namespace ddpprof::fit {
namespace {

struct StandardChange {
  std::string change;
  bool setting;
};

std::vector<StandardChange> standard_changes(const MeasuredJob& job) {
  const StepProfile& profile = job.profiles().rbegin()->second;
  std::vector<StandardChange> all = {
      {"accumulation=" + std::to_string(4 * std::max<std::int64_t>(1, profile.accumulation)), true},
      {"compression=bf16", true},
      {"precision=bf16", true},
      {"bucket_cap_mb=100", true},
      {"bucket_cap_mb=5", true},
      {"bandwidth=2x", false},
      {"latency=0.5x", false},
      {"compute=2x", false},
      {"host=2x", false}};
  if (profile.batch_per_worker > 0)
    all.push_back({"batch_per_worker=" + std::to_string(2 * profile.batch_per_worker), true});
  return all;
}

}  // namespace

std::vector<RankedChange> ranked_changes(const Predictor& predictor, const Predictor* dedicated, std::int64_t workers) {
  std::vector<RankedChange> ranked;
  for (const StandardChange& one : standard_changes(predictor.job())) {
    const std::vector<std::string> said{one.change};
    const WhatIf change = parse_what_if(said);
    if (predictor.refusal(workers, change)) continue;
    try {
      ranked.push_back({one.change, one.setting, change_effect(predictor, workers, change)});
    } catch (const std::invalid_argument&) {
      // No time would be left of the step.
    }
  }
  if (dedicated != nullptr && !dedicated->refusal(workers))
    ranked.push_back({"sharing=dedicated", false, machine_effect(predictor, *dedicated, workers)});
  std::ranges::stable_sort(ranked, std::ranges::greater{}, [](const RankedChange& one) { return one.effect.speedup; });
  return ranked;
}

}  // namespace ddpprof::fit
