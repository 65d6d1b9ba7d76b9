// Finds shards that are copies of one another, so that no process counts twice.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

namespace ddpprof::ingest {

struct Copy {
  std::filesystem::path left_out, kept;
};

// The shards in their order, of each process's copies the one that holds most; those left out go to `copies`. A shard
// whose header cannot be read stays: whoever reads it says why.
std::vector<std::filesystem::path> without_copies(std::span<const std::filesystem::path> shards,
                                                  std::vector<Copy>& copies);

}  // namespace ddpprof::ingest
