// What the files of a rank are called that somebody else started: made from its number alone, never from what one says.
#pragma once

#include <filesystem>
#include <vector>

namespace ddpprof::launcher {

struct RankFiles {
  std::filesystem::path folder;  // DIR/attempt-<k>
  std::filesystem::path start, scenario, run, result, trace;
};

RankFiles rank_files(const std::filesystem::path& folder, int attempt, int rank);
RankFiles rank_files_in(const std::filesystem::path& attempt_folder, int rank);

// The attempts of a folder, and the ranks of an attempt, by the names in it; ascending.
std::vector<int> attempts_in(const std::filesystem::path& folder);
std::vector<int> ranks_in(const std::filesystem::path& attempt_folder);

// What is called as a shard of this rank, sorted; it may be anything.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& trace, int rank);

// Removes the rank's files, what it was started as last: as long as that is there, the rank counts as there. Throws
// std::filesystem::filesystem_error.
void remove_rank_files(const RankFiles& files, int rank);

}  // namespace ddpprof::launcher
