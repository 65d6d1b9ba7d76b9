// Finds copies of the same shard, so that no process counts twice.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

namespace ddpprof::ingest {

struct Copy {
  std::filesystem::path left_out, kept;
};

// Returns the shards in their order, without copies. Of several copies a closed one stays, otherwise the one with most
// chunks; the others go to `copies`. A shard with an unreadable header stays; reading it reports the reason.
std::vector<std::filesystem::path> without_copies(std::span<const std::filesystem::path> shards,
                                                  std::vector<Copy>& copies);

}  // namespace ddpprof::ingest
