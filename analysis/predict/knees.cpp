// The share of communication need not grow with N: a measured N stands between modelled ones, and compute or
// communication jumps where ranks begin to share cores or a host is full. A bisection alone can therefore miss the
// smallest N. The search computes every N up to 64, every measured N, and beyond 64 each N that is a thirty-second
// larger than the one before. A bisection then runs between the first N that exceeds the share and the one before it.
#include "analysis/predict/knees.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "analysis/predict/predictor.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::int64_t finest = 32;  // the next N is larger by at most N / finest

}  // namespace

std::int64_t knees_up_to(const Predictor& predictor, std::int64_t asked, const WhatIf& change) {
  return std::max(asked, change.strategy.empty() ? knee_search_limit : predictor.job().largest_measured());
}

std::optional<std::vector<Knee>> knees(const Predictor& predictor, const WhatIf& change, const KneeSearch& search) {
  const MeasuredJob& job = predictor.job();
  std::set<std::int64_t> rungs;
  for (std::int64_t n = 2; n <= search.furthest; n += std::max<std::int64_t>(1, n / finest)) rungs.insert(n);
  if (search.furthest > 1) rungs.insert(search.furthest);
  for (const auto& [workers, profile] : job.profiles())
    if (workers > 1 && workers <= search.furthest) rungs.insert(workers);

  // Waiting for slower ranks counts as exposed communication.
  const auto predicted_share = [&](std::int64_t workers) -> std::optional<double> {
    if (predictor.refusal(workers, change)) return std::nullopt;
    try {
      const Terms terms = change.any()
                              ? as_measured(predictor.modelled(predictor.prepared().model.case_at(workers, change)))
                              : predictor.central(workers);
      if (!(terms.step_s() > 0.0)) return std::nullopt;
      return (terms.exposed_s + terms.skew_s) / terms.step_s();
    } catch (const std::invalid_argument&) {
      return std::nullopt;  // a reason that only the simulation finds: for example more transfers than it allows
    }
  };
  std::set<std::int64_t> passed_over;
  const auto exposed_share = [&](std::int64_t workers) {
    const std::optional<double> share = predicted_share(workers);
    if (!share) passed_over.insert(workers);
    return share;
  };

  std::vector<Knee> all;
  for (const double share : search.shares)
    all.push_back({job.strategy(), job.options().gpus_per_node, change.any(), share, {}, 0.0, false, 0, 0, 0, 0});
  std::int64_t before = 1, furthest = 0;
  for (const std::int64_t n : rungs) {
    if (search.stop && search.stop()) return std::nullopt;
    const bool any_left = std::ranges::any_of(all, [](const Knee& knee) { return !knee.workers; });
    if (!any_left) break;
    const std::optional<double> here = exposed_share(n);
    if (here) furthest = n;
    for (Knee& knee : all) {
      if (knee.workers || !here || !(*here > knee.share)) continue;
      std::int64_t below = before, above = n;
      double there = *here;
      while (above - below > 1) {
        if (search.stop && search.stop()) return std::nullopt;
        const std::int64_t middle = below + (above - below) / 2;
        const std::optional<double> value = exposed_share(middle);
        const bool exceeds = value && *value > knee.share;
        if (exceeds) there = *value;
        (exceeds ? above : below) = middle;
      }
      knee.workers = above;
      knee.exposed_share = there;
      knee.measured = !change.any() && job.measured_on(job.machine_for(above)) != nullptr;
    }
    before = n;
  }
  if (furthest == 0) return std::vector<Knee>();
  for (Knee& knee : all) {
    knee.furthest = furthest;
    if (passed_over.empty()) continue;
    knee.passed_over = static_cast<std::int64_t>(passed_over.size());
    knee.first_passed_over = *passed_over.begin();
    knee.last_passed_over = *passed_over.rbegin();
  }
  return all;
}

}  // namespace ddpprof::fit
