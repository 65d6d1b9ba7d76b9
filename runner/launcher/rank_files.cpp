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

// Returns the number between `prefix` and `suffix`, as in "rank-12.json", or -1 if the name has another form.
int number_in(const std::string& name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return -1;
  int number = -1;
  const char* begin = name.data() + prefix.size();
  const char* end = name.data() + name.size() - suffix.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end && number >= 0 ? number : -1;
}

// Returns the numbers of all entries with such a name in a folder, ascending; empty if the folder is missing.
std::vector<int> numbers_in(const fs::path& folder, std::string_view prefix, std::string_view suffix) {
  std::vector<int> numbers;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const int number = number_in(entry.path().filename().string(), prefix, suffix);
    if (number >= 0) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
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

std::vector<int> attempts_in(const fs::path& folder) { return numbers_in(folder, "attempt-", ""); }

std::vector<int> ranks_in(const fs::path& attempt_folder) { return numbers_in(attempt_folder, "rank-", ".json"); }

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
