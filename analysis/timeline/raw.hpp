// Raw ranges of the host, kernels, copies and CUDA calls of a measurement, read on two threads.
#pragma once

#include <filesystem>

#include "analysis/timeline/draft.hpp"
#include "analysis/timeline/load.hpp"

namespace ddpprof::timeline {

// Adds tracks to the draft's ranks that kept theirs. False when cancelled.
bool add_raw(const std::filesystem::path&, Draft&, const LoadHooks&);

}  // namespace ddpprof::timeline
