// Names of the files of a rank that an external launcher started. They are made from the rank's number only, never from
// names in received data.
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

// Return the attempts in a folder, and the ranks in an attempt's folder, by file names; ascending.
std::vector<int> attempts_in(const std::filesystem::path& folder);
std::vector<int> ranks_in(const std::filesystem::path& attempt_folder);

// Returns the paths with the name of a shard of this rank, sorted. Their type and content are not checked.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& trace, int rank);

// Removes the rank's files. The start file is removed last, because a rank with a start file counts as present. Throws
// std::filesystem::filesystem_error.
void remove_rank_files(const RankFiles& files, int rank);

}  // namespace ddpprof::launcher
