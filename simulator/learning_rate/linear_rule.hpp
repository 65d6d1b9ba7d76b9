// The linear scaling rule: which learning rate N workers want, and how to climb to it.
//
// lr = kappa lr0 with kappa = global batch / base batch, reached by a gradual warm-up that raises the rate every
// iteration from lr0 to kappa lr0 (Goyal et al. 2017, "Accurate, Large Minibatch SGD", sections 2.1 and 2.2).
#pragma once

#include "simulator/learning_rate/schedule.hpp"

namespace ddpprof::learning_rate {

// Throws std::invalid_argument as unscaled does, and on a warm-up above most_counted.
Schedule linear_rule(const Plan&);

}  // namespace ddpprof::learning_rate
