// Trains: warm-up steps, then measured steps until their number suffices, then the same steps without DDP.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

// Runs the scenario's training on this rank and returns its part of the result file. `group` is null for DataParallel
// and for one process without DDP. Without learning_rate.apply every step uses learning_rate.base: this is the rate at
// which a warm-up of the linear scaling rule starts at every N, and the measured steps are its first steps.
nlohmann::json train(const Context& context, Group* group);

}  // namespace ddpprof::worker
