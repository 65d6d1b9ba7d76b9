// Copies the files of all ranks to rank 0 through the rendezvous store, at the end of a run without a shared folder.
#pragma once

#include <filesystem>
#include <optional>

#include "runner/launcher/exchange/token.hpp"
#include "runner/worker/loop/context.hpp"

namespace ddpprof::worker {

struct GatherPlace {
  std::filesystem::path folder;  // this rank's attempt-<k>
  bool overwrite = false;        // rank 0: received files replace those of an earlier run
};

// First closes the trace. Replaces the last barrier of the ranks: rank 0 returns when every rank that still answers has
// left. Throws std::runtime_error, which names each rank whose files were not copied, their folder and the reason.
void gather_files(const Context& context, const GatherPlace& place, const std::optional<launcher::Token>& token,
                  c10d::Store& store);

}  // namespace ddpprof::worker
