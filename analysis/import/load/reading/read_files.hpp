// Reads the files of an import in several threads, and writes their raw events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/load/import.hpp"
#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::import {

struct ReadFiles {
  std::vector<ReadRank> ranks;        // in the order of the files; the cycles of one process are one rank
  std::vector<std::string> unusable;  // why files are left out
  std::int64_t first_shard = 1;       // id of the shard of source 0; source k has first_shard + k

  std::int64_t shard_of(const ReadRank& rank) const { return first_shard + static_cast<std::int64_t>(rank.source); }
};

// Reads options.files. With options.keep_raw writes the raw events of the ranks that are returned, for shards that do
// not exist yet. Throws ImportError if no file can be used, and what reading and writing throw otherwise.
ReadFiles read_files(store::Database&, const ImportOptions&);

// Removes the raw events of the shards from `first` to before `end`.
void forget_raw(store::Database&, std::int64_t first, std::int64_t end);

}  // namespace ddpprof::import
