#include "runner/launcher/rank_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace ddpprof::launcher {

namespace {

namespace fs = std::filesystem;

// The number in "rank-12.json" after `prefix` and before `suffix`; -1 when the name is another one.
int number_in(const std::string& name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return -1;
  int number = -1;
  const char* begin = name.data() + prefix.size();
  const char* end = name.data() + name.size() - suffix.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end && number >= 0 ? number : -1;
}

}  // namespace

RankFiles rank_files_in(const fs::path& attempt_folder, int rank) {
  RankFiles files;
  files.folder = attempt_folder;
  files.start = attempt_folder / fmt::format("rank-{}.json", rank);
  files.scenario = attempt_folder / fmt::format("scenario-{}.yaml", rank);
  files.run = attempt_folder / fmt::format("run-{}.json", rank);
  files.result = attempt_folder / fmt::format("result-{}.json", rank);
  files.trace = attempt_folder / "trace";
  return files;
}

RankFiles rank_files(const fs::path& folder, int attempt, int rank) {
  return rank_files_in(folder / fmt::format("attempt-{}", attempt), rank);
}

std::vector<int> attempts_in(const fs::path& folder) {
  std::vector<int> attempts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const int attempt = number_in(entry.path().filename().string(), "attempt-", "");
    if (attempt >= 0) attempts.push_back(attempt);
  }
  std::sort(attempts.begin(), attempts.end());
  return attempts;
}

std::vector<int> ranks_in(const fs::path& attempt_folder) {
  std::vector<int> ranks;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(attempt_folder, error)) {
    const int rank = number_in(entry.path().filename().string(), "rank-", ".json");
    if (rank >= 0) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<fs::path> shards_of(const fs::path& trace, int rank) {
  std::vector<fs::path> shards;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(trace, error)) {
    if (entry.path().extension() == ".ddps" &&
        entry.path().filename().string().starts_with(fmt::format("shard-{}-", rank)))
      shards.push_back(entry.path());
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

void remove_rank_files(const RankFiles& files, int rank) {
  for (const fs::path& shard : shards_of(files.trace, rank)) fs::remove(shard);
  for (const fs::path& path : {files.scenario, files.run, files.result, files.start}) fs::remove(path);
}

}  // namespace ddpprof::launcher
