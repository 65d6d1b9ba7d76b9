// The learning-rate rules by name: one plan, any of them, and why one does not apply.
//
// With kappa = global batch B / base batch B0 and lr0 tuned at B0, the target rate after the warm-up:
//   none         lr0: the base rate unchanged
//   linear       kappa lr0 (linear_rule.hpp)
//   square root  sqrt(kappa) lr0, for Adam with the other settings scaled (square_root_rule.hpp)
//   LARS         kappa lr0, as a global rate over layerwise ones (layerwise.hpp), warmed up as the linear rule's (You,
//                Gitman, Ginsburg 2017, "Large Batch Training of Convolutional Networks")
//   LAMB         sqrt(kappa) lr0 over layerwise rates. The warm-up's epochs grow with kappa, so that it takes as many
//                steps at every batch, and climbs from 0 (You et al. 2020, "Large Batch Optimization for Deep
//                Learning", section 4.1 and its untuned BERT recipe)
//   AdaScale     r lr0 with the gain r of large_batch.hpp. No warm-up; a step counts for r steps of the base batch, so
//                the training takes 1 / r of the base batch's steps, and the decay's epochs shrink alike (Johnson et
//                al. 2020, "AdaScale SGD", section 3). Here for one gain throughout, from the noise scale of the plan;
//                adascale.hpp has it step by step
#pragma once

#include <array>
#include <optional>
#include <string>

#include "simulator/learning_rate/schedule.hpp"

namespace ddpprof::learning_rate {

enum class Rule { none, linear, square_root, lars, lamb, adascale };
inline constexpr std::array every_rule = {Rule::none, Rule::linear, Rule::square_root,
                                          Rule::lars, Rule::lamb,   Rule::adascale};

const char* to_string(Rule);  // "none", "linear", "square root", "LARS", "LAMB", "AdaScale"
// Returns the name in files and commands: "none", "linear", "sqrt", "lars", "lamb", "adascale".
const char* word(Rule);

// Returns why the rule cannot be applied to this plan, with advice; nothing if it can. Refused are the square root for
// an adaptive optimizer if kappa (1 - beta1) >= 1 or kappa (1 - beta2) >= 1, and AdaScale without a noise scale. Throws
// as unscaled does.
std::optional<std::string> refusal(Rule, const Plan&);

// Throws std::invalid_argument as unscaled does, with the refusal where there is one, and on a noise scale below 0.
Schedule schedule_of(Rule, const Plan&);

}  // namespace ddpprof::learning_rate
