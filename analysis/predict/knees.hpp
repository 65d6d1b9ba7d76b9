// The smallest N at which communication takes more than a share of the step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/step_model/what_if.hpp"
#include "simulator/scaling/knee.hpp"

namespace ddpprof::fit {

class Predictor;

// The search ends at this N, unless knees_up_to returns another limit.
inline constexpr std::int64_t knee_search_limit = 4096;

// The smallest N from 2 on at which exposed communication, waiting for slower ranks included, exceeds a share of the
// step. A measured N counts with its measured step.
struct Knee {
  std::string strategy;
  std::int64_t gpus_per_node = 0;
  bool changed = false;  // with the options' change
  double share = scaling::communication_bound_share;
  std::optional<std::int64_t> workers;  // empty if no N up to `furthest` exceeds the share
  double exposed_share = 0.0;           // at `workers`
  bool measured = false;                // `workers` was measured
  bool shared_resource = false;         // step times alone: what is exposed may be of another shared resource
  std::int64_t furthest = 0;            // the largest N of the search that can be predicted
  // N of the search that cannot be predicted: their number, the smallest and the largest.
  std::int64_t passed_over = 0, first_passed_over = 0, last_passed_over = 0;
};

struct KneeSearch {
  std::vector<double> shares = {scaling::knee_shares.begin(), scaling::knee_shares.end()};
  std::int64_t furthest = knee_search_limit;
  std::function<bool()> stop;  // called at every N; true ends the search
};

// Returns one knee for each share. Empty vector: no N from 2 on can be predicted. No value: the search was stopped.
// With the same `furthest`, the answer depends on the measurements, the machine and the change alone.
std::optional<std::vector<Knee>> knees(const Predictor&, const WhatIf& = {}, const KneeSearch& = {});

// Returns the limit of the search if `asked` is the largest N asked about: knee_search_limit, or `asked` if that is
// larger. Another strategy is simulated transfer by transfer, so its limit is the largest measured N or `asked`.
std::int64_t knees_up_to(const Predictor&, std::int64_t asked, const WhatIf&);

}  // namespace ddpprof::fit
