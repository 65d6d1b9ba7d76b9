// The rows of learning_rate.
#include <vector>

#include "runner/scenario/binding.hpp"
#include "runner/scenario/key_table.hpp"

namespace ddpprof::scenario {

void add_learning_rate_specs(std::vector<KeySpec>& specs) {
  using enum KeyType;
  constexpr auto S = &Draft::scenario;
  constexpr auto L = &Scenario::learning_rate;
  const auto add = [&](const KeySpec& spec) { specs.push_back(spec); };

  add(bound<S, L, &LearningRate::base>({.key = "learning_rate.base",
                                        .type = number,
                                        .unit = "",
                                        .limits = {.least = 0, .above_least = true},
                                        .doc = "Learning rate, tuned at `base_workers` workers or at `base_batch`."}));
  add(bound<S, L, &LearningRate::base_workers>({.key = "learning_rate.base_workers",
                                                .type = integer,
                                                .unit = "workers",
                                                .limits = {.least = 1, .most = 1'048'576},
                                                .doc = "World size that `base` was tuned at, with this batch."}));
  add(bound<S, L, &LearningRate::base_batch>(
      {.key = "learning_rate.base_batch",
       .type = integer,
       .unit = "samples",
       .nullable = true,
       .limits = {.least = 1, .most = 2'147'483'647},
       .doc = "Global batch that `base` was tuned at, in place of `base_workers`. Unset: `base_workers` × batch × "
              "accumulation."}));
  add(bound<S, L, &LearningRate::rule>(
      {.key = "learning_rate.rule",
       .type = choice,
       .unit = "",
       .choices = names_of<learning_rate::Rule>(),
       .doc =
           "How the rate grows with the workers. `none`: not at all; `linear`: in proportion (Goyal et al. 2017); "
           "`sqrt`: with the square root, for Adam with betas and epsilon rescaled (Malladi et al. 2022); `lars`: "
           "in proportion, over a rate for each layer in the place of SGD (You et al. 2017); `lamb`: with the square "
           "root, over a rate for each layer in the place of AdamW (You et al. 2020); `adascale`: with SGD, by a gain "
           "that the noise of each step's gradients allows, and over when its steps are worth `epochs` of the base "
           "batch (Johnson et al. 2020)."}));
  add(bound<S, L, &LearningRate::trust>({.key = "learning_rate.trust",
                                         .type = number,
                                         .unit = "",
                                         .limits = {.least = 0, .most = 1000, .above_least = true},
                                         .doc = "Of `rule: lars`: how far a layer may move in a step, as a share of "
                                                "its own norm at a rate of 1."}));
  add(bound<S, L, &LearningRate::warmup_epochs>(
      {.key = "learning_rate.warmup_epochs",
       .type = number,
       .unit = "epochs",
       .limits = {.least = 0, .most = 1e6},
       .doc = "Epochs over which the rate climbs, step by step, from `base` to its scaled value; with `lamb` from 0, "
              "over as many steps as these epochs have at the base batch. Not of `none` and `adascale`."}));
  add(bound<S, L, &LearningRate::epochs>({.key = "learning_rate.epochs",
                                          .type = integer,
                                          .unit = "epochs",
                                          .limits = {.least = 1, .most = 1e6},
                                          .doc = "Length of the training that the schedule is for."}));
  using learning_rate::Decay;
  constexpr auto decay = &LearningRate::decay;
  add(bound<S, L, decay, &Decay::kind>(
      {.key = "learning_rate.decay",
       .type = choice,
       .unit = "",
       .choices = names_of<learning_rate::DecayKind>(),
       .doc = "How the rate falls after the warm-up: not at all, in steps, along half a cosine to 0, or as "
              "(1 − p)^power over the steps that are left."}));
  add(bound<S, L, decay, &Decay::at_epochs>(
      {.key = "learning_rate.decay_epochs",
       .type = number_list,
       .unit = "epochs",
       .limits = {.least = 0, .most = 1e6, .entries = 1, .ascending = true},
       .doc = "Of `decay: step`: where the rate falls, counted from the training's beginning."}));
  add(bound<S, L, decay, &Decay::factor>({.key = "learning_rate.decay_factor",
                                          .type = number,
                                          .unit = "",
                                          .limits = {.least = 0, .most = 1},
                                          .doc = "Of `decay: step`: what the rate is multiplied by at each."}));
  add(bound<S, L, decay, &Decay::power>({.key = "learning_rate.decay_power",
                                         .type = number,
                                         .unit = "",
                                         .limits = {.least = 0, .most = 1000, .above_least = true},
                                         .doc = "Of `decay: polynomial`: 1 is a straight line."}));
  add(bound<S, L, &LearningRate::apply>(
      {.key = "learning_rate.apply",
       .type = boolean,
       .unit = "",
       .doc = "Train with this schedule, the rate set anew before each optimizer step, instead of with `base` in every "
              "step. What was trained is recorded, and `ddpprof lr` sets it beside the plan "
              "(docs/guide/learning-rate.md)."}));
}

}  // namespace ddpprof::scenario
