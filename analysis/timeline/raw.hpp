// Reads the host's raw ranges, kernels, copies and CUDA calls of a measurement with two threads.
#pragma once

#include <filesystem>

#include "analysis/timeline/draft.hpp"
#include "analysis/timeline/load.hpp"

namespace ddpprof::timeline {

// Adds tracks to the ranks of the draft that kept raw events. Returns false if cancelled.
bool add_raw(const std::filesystem::path&, Draft&, const LoadHooks&);

}  // namespace ddpprof::timeline
