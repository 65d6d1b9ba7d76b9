// One file that a training can go on from: parameters, buffers, the optimizer's state and how far the data was read.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runner/worker/models/network.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

struct Progress {
  std::int64_t steps = 0;    // of the optimizer
  std::int64_t samples = 0;  // that all workers together have taken from the sampler, so that N may differ on resuming
};

// Whole or not at all (written beside `path`, then renamed). Throws std::runtime_error when it cannot be written.
void save_checkpoint(const std::filesystem::path& path, const Network& network, const torch::optim::Optimizer& optimizer,
                     const Progress& progress);

// Fills `network` and `optimizer` in place; both must be built for the same model and kind of optimizer. Throws
// std::runtime_error naming the file and what does not fit.
Progress load_checkpoint(const std::filesystem::path& path, Network& network, torch::optim::Optimizer& optimizer);

}  // namespace ddpprof::worker
