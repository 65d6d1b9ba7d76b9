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

  add(bound<S, L, &LearningRate::base>(
      {.key = "learning_rate.base",
       .type = number,
       .unit = "",
       .limits = {.least = 0, .above_least = true},
       .doc = "Learning rate, tuned for `base_workers` workers or for `base_batch`."}));
  add(bound<S, L, &LearningRate::base_workers>({.key = "learning_rate.base_workers",
                                                .type = integer,
                                                .unit = "workers",
                                                .limits = {.least = 1, .most = 1'048'576},
                                                .doc = "World size for which `base` was tuned, with this batch."}));
  add(bound<S, L, &LearningRate::base_batch>({.key = "learning_rate.base_batch",
                                              .type = integer,
                                              .unit = "samples",
                                              .nullable = true,
                                              .limits = {.least = 1, .most = 2'147'483'647},
                                              .doc = "Global batch for which `base` was tuned, instead of "
                                                     "`base_workers`. Unset: `base_workers` × batch × accumulation."}));
  add(bound<S, L, &LearningRate::rule>(
      {.key = "learning_rate.rule",
       .type = choice,
       .unit = "",
       .choices = names_of<learning_rate::Rule>(),
       .doc = "How the rate depends on the number of workers. `none`: constant. `linear`: proportional (Goyal et al. "
              "2017). `sqrt`: proportional to the square root; for Adam with rescaled betas and epsilon (Malladi et "
              "al. 2022). `lars`: proportional, with a rate for each layer, replaces SGD (You et al. 2017). `lamb`: "
              "proportional to the square root, with a rate for each layer, replaces AdamW (You et al. 2020). "
              "`adascale`: SGD with a gain from the noise of each step's gradients; training ends when its steps are "
              "worth `epochs` of the base batch (Johnson et al. 2020)."}));
  add(bound<S, L, &LearningRate::trust>(
      {.key = "learning_rate.trust",
       .type = number,
       .unit = "",
       .limits = {.least = 0, .most = 1000, .above_least = true},
       .doc = "For `rule: lars`: how far a layer may move in a step, as a fraction of its own norm at a rate of 1."}));
  add(bound<S, L, &LearningRate::warmup_epochs>(
      {.key = "learning_rate.warmup_epochs",
       .type = number,
       .unit = "epochs",
       .limits = {.least = 0, .most = 1e6},
       .doc =
           "Epochs in which the rate rises, step by step, from `base` to its scaled value. With `lamb` it rises from "
           "0, over the number of steps that these epochs have at the base batch. Not for `none` and `adascale`."}));
  add(bound<S, L, &LearningRate::epochs>({.key = "learning_rate.epochs",
                                          .type = integer,
                                          .unit = "epochs",
                                          .limits = {.least = 1, .most = 1e6},
                                          .doc = "Length of the training for which the schedule is made."}));
  using learning_rate::Decay;
  constexpr auto decay = &LearningRate::decay;
  add(bound<S, L, decay, &Decay::kind>({.key = "learning_rate.decay",
                                        .type = choice,
                                        .unit = "",
                                        .choices = names_of<learning_rate::DecayKind>(),
                                        .doc = "How the rate falls after the warm-up: constant, in steps, along half a "
                                               "cosine to 0, or as (1 − p)^power over the remaining steps."}));
  add(bound<S, L, decay, &Decay::at_epochs>(
      {.key = "learning_rate.decay_epochs",
       .type = number_list,
       .unit = "epochs",
       .limits = {.least = 0, .most = 1e6, .entries = 1, .ascending = true},
       .doc = "For `decay: step`: the epochs at which the rate falls, counted from the start of the training."}));
  add(bound<S, L, decay, &Decay::factor>({.key = "learning_rate.decay_factor",
                                          .type = number,
                                          .unit = "",
                                          .limits = {.least = 0, .most = 1},
                                          .doc = "For `decay: step`: the factor at each of these epochs."}));
  add(bound<S, L, decay, &Decay::power>({.key = "learning_rate.decay_power",
                                         .type = number,
                                         .unit = "",
                                         .limits = {.least = 0, .most = 1000, .above_least = true},
                                         .doc = "For `decay: polynomial`: the power. 1 is a straight line."}));
  add(bound<S, L, &LearningRate::apply>(
      {.key = "learning_rate.apply",
       .type = boolean,
       .unit = "",
       .doc = "Train with this schedule: the rate is set before each optimizer step. Otherwise every step uses `base`. "
              "The rates are recorded, and `ddpprof lr` compares them with the plan (docs/guide/learning-rate.md)."}));
}

}  // namespace ddpprof::scenario
