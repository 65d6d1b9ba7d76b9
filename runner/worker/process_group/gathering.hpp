// The end of a run whose ranks share no folder: their files go to rank 0 through the store they met at.
#pragma once

#include <filesystem>
#include <optional>

#include "runner/launcher/token.hpp"
#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

struct GatherPlace {
  std::filesystem::path folder;  // this rank's attempt-<k>
  bool overwrite = false;        // rank 0: files that come replace an earlier run's
};

// Closes the trace first. In place of the ranks' last barrier: rank 0 returns when
// every rank that still answers has left. Throws std::runtime_error that says whose files stayed where, and why.
void gather_files(const Context& context, const GatherPlace& place, const std::optional<launcher::Token>& token,
                  c10d::Store& store);

}  // namespace ddpprof::worker
