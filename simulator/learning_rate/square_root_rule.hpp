// The square-root scaling rule: the learning rate beside the linear rule's, and the usual one for adaptive optimizers.
//
// lr = sqrt(kappa) lr0 with kappa = global batch / base batch. For SGD it keeps the variance of a step's update as it
// was (Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks", section 5; Hoffer et al.
// 2017, "Train longer, generalize better"). For Adam and RMSprop it keeps the path of the optimizer's stochastic
// differential equation, together with 1 - beta -> kappa (1 - beta) and epsilon -> epsilon / sqrt(kappa) (Malladi et
// al. 2022, "On the SDEs and Scaling Rules for Adaptive Gradient Algorithms").
#pragma once

#include "simulator/learning_rate/linear_rule.hpp"

namespace ddpprof::learning_rate {

// The plan's schedule with the square root's target; its warm-up is as many steps as the linear rule's. Warnings:
// sgd_prefers_linear for SGD above the base batch, and those that hold for any rule (warmup_exceeds_training,
// below_base_batch); none that speaks of the linear rule. Throws as linear_rule.
Schedule square_root_rule(const Plan&);

struct ScaledAdam {
  AdamSettings settings;
  bool valid = true;  // false from kappa (1 - beta1) >= 1 on: no beta1 averages over less than one step
};

// Returns the other settings of Adam at kappa. A beta of 0 averages nothing and stays 0, as in RMSprop, which has no
// beta1. Throws std::invalid_argument for a kappa that is not positive, betas
// outside [0, 1) or an epsilon below 0.
ScaledAdam scale_adam(const AdamSettings&, double kappa);

}  // namespace ddpprof::learning_rate
