#include "analysis/predict/standard_changes.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

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

std::vector<RankedChange> ranked_changes(const Predictor& predictor, const Predictor* dedicated, std::int64_t workers,
                                         const std::function<bool()>& stop) {
  std::vector<RankedChange> ranked;
  for (const StandardChange& one : standard_changes(predictor.job())) {
    if (stop && stop()) break;
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
  sort_by_gain(ranked);
  return ranked;
}

void sort_by_gain(std::vector<RankedChange>& changes) {
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const RankedChange& one) { return one.effect.speedup; });
}

std::string_view change_requires(std::string_view change) {
  constexpr std::pair<std::string_view, std::string_view> all[] = {
      {"accumulation", "a larger global batch"},
      {"batch_per_worker", "a larger global batch"},
      {"compression", "a communication hook"},
      {"precision", "a model in 16 bits"},
      {"bucket_cap_mb", "a setting of DDP"},
      {"bandwidth", "faster links"},
      {"latency", "faster links"},
      {"compute", "faster devices"},
      {"host", "CUDA graphs or torch.compile"},
      {"sharing", "more cores or hosts"},
      {"reshard_after_forward", "more memory in each rank"},
      {"replicate", "more memory in each rank"},
      {"strategy", "more memory in each rank"}};
  const std::string_view key = change.substr(0, change.find('='));
  const auto found = std::ranges::find(all, key, [](const auto& one) { return one.first; });
  return found == std::end(all) ? std::string_view() : found->second;
}

bool shares_cores(const MeasuredJob& job, std::int64_t workers) {
  const Machine machine = job.machine_for(workers);
  return machine.device != "cuda" && machine.crowding() > 1.0;
}

}  // namespace ddpprof::fit
