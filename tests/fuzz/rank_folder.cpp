// Folders of ranks on another host, with any content: the runs are recorded, or refused with an error message of
// ddpprof.
#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/import/ranks/rank_runs.hpp"
#include "runner/errors/user_error.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

namespace {

// A scenario with two ranks.
bool is_a_ranks_file(std::string_view name) {
  for (const char* rank : {"0", "1"})
    for (const auto& [begin, end] :
         {std::pair{"rank-", ".json"}, {"scenario-", ".yaml"}, {"run-", ".json"}, {"result-", ".json"}})
      if (name == std::string(begin) + rank + end) return true;
  return name == "trace/shard-0-71.ddps" || name == "trace/shard-1-72.ddps";
}

}  // namespace

// The files of attempt 0: each part begins with a line "=== FILE".
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::filesystem::path runs = folder.path() / "runs", attempt = runs / "attempt-0";
  std::filesystem::remove_all(runs);
  std::filesystem::create_directories(attempt / "trace");
  const std::string_view all = fuzz::text_of(data, size);
  std::string_view input = all;
  constexpr std::string_view mark = "=== ";
  if (!input.starts_with(mark)) return 0;
  while (!input.empty()) {
    const std::string_view part = input.substr(0, input.find("\n=== "));
    input.remove_prefix(std::min(part.size() + 1, input.size()));
    const std::size_t line_end = std::min(part.find('\n'), part.size());
    const std::string_view name = part.substr(mark.size(), line_end - mark.size());
    if (is_a_ranks_file(name))
      folder.file("runs/attempt-0/" + std::string(name), part.substr(std::min(line_end + 1, part.size())));
  }
  try {
    int older = 0;
    std::vector<std::string> notes;
    const std::vector<ranks::RankRun> found = ranks::group_runs(ranks::read_rank_records(runs, older), true, notes);
    fuzz::require(!found.empty(), "where no run is found it is said");
    const scenario::Scenario scenario = ranks::common_scenario(found);
    store::Database& database = fuzz::empty_database();
    for (const ranks::RankRun& run : found) {
      for (const std::string& sentence : run.missing)
        fuzz::require(sentence.size() < 64 * size + 4096, "a sentence stays one");
      const ranks::MeasurementSetup setup = ranks::setup_of(run, scenario);
      const std::int64_t id = ranks::record_measurement(database, setup, ranks::recorded_of(run));
      fuzz::require(id > 0, "a run is a measurement");
    }
    fuzz::require(database.sql().execAndGet("SELECT count(*) FROM measurement").getInt64() ==
                      static_cast<std::int64_t>(found.size()),
                  "each run is one measurement");
  } catch (const UserError& failure) {
    const std::string text = failure.text();
    constexpr std::string_view foreign = "json.exception";  // the message may quote the input
    fuzz::require(text.find(foreign) == std::string::npos || all.find(foreign) != std::string_view::npos,
                  "a refusal is in words of ours");
    fuzz::require(text.size() < 64 * size + 4096, "a refusal stays a message");
  }
  return 0;
}
