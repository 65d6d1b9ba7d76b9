// read_rank_records() of rank_folder.hpp. The folder may come from another host.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "analysis/export/json_depth.hpp"
#include "analysis/import/ranks/error.hpp"
#include "analysis/import/ranks/foreign_file.hpp"
#include "analysis/import/ranks/json_text.hpp"
#include "analysis/import/ranks/rank_folder.hpp"
#include "analysis/import/ranks/result_facts.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::ranks {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_ranks = 1 << 20;
constexpr std::uint64_t largest_json_bytes = 256u << 20;     // a result with every step and sweep of a long run
constexpr std::uint64_t largest_scenario_bytes = 16u << 20;  // a thousand times a long scenario

// Returns nullopt if the file does not exist. `text` receives the file's text.
std::optional<nlohmann::json> read_json(const fs::path& path, std::string& text) {
  std::optional<std::string> found = read_foreign_file(path, largest_json_bytes);
  if (!found) return std::nullopt;
  text = std::move(*found);
  if (export_::nests_deeper(text))  // copying and comparing recurse per level
    throw InvalidRecords(fmt::format("{} nests deeper than {} levels", path.string(), export_::max_json_depth),
                         "what ddpprof worker wrote", "start that rank again");
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object())
    throw InvalidRecords(path.string() + " cannot be read", "what ddpprof worker wrote", "start that rank again");
  return parsed;
}

std::string read_run_name(const fs::path& path) {
  std::string text;
  const std::optional<nlohmann::json> parsed = read_json(path, text);
  if (!parsed) return "";
  const auto name = parsed->find("run");
  const bool sound = name != parsed->end() && name->is_string() &&
                     std::ranges::all_of(name->get_ref<const std::string&>(),
                                         [](unsigned char letter) { return std::isalnum(letter) || letter == '-'; });
  if (!sound)
    throw InvalidRecords(path.string() + ": 'run' is not a name", "what ddpprof worker wrote", "start that rank again");
  return *name;
}

// A shard counts for the rank in its header. Under the name of another rank it would count twice.
std::vector<fs::path> read_shards(const fs::path& trace, int rank) {
  if (!check_foreign_folder(trace)) return {};
  std::vector<fs::path> shards = launcher::shards_of(trace, rank);
  for (const fs::path& shard : shards) {
    check_foreign_file(shard);
    try {
      const std::int32_t inside = store::ShardReader(shard).info().rank;
      if (inside != rank && inside >= 0)
        throw InvalidRecords(
            fmt::format("{} belongs to rank {}, but its name has rank {}", shard.string(), inside, rank),
            "what ddpprof worker wrote", "remove it, or give it its own name");
    } catch (const store::ShardError&) {  // reported as a diagnostic when the shard is loaded
    }
  }
  return shards;
}

// Throws InvalidRecords if a fact is missing, has another type or is out of range.
void check_start(const nlohmann::json& start, const fs::path& path, int rank) {
  const auto refuse = [&](const std::string& what) {
    throw InvalidRecords(path.string() + ": " + what, "what ddpprof worker wrote", "start that rank again");
  };
  for (const char* key : {"rank", "world_size", "workers", "pid", "started_utc_ns"})
    if (!start.contains(key) || !start[key].is_number_integer()) refuse(fmt::format("'{}' is not a whole number", key));
  for (const char* key : {"host", "strategy", "trained_with", "scenario_source", "scenario_file"})
    if (!start.contains(key) || !start[key].is_string()) refuse(fmt::format("'{}' is not a text", key));
  for (const char* key : {"mode", "started_by", "job"})
    if (start.contains(key) && !start[key].is_string()) refuse(fmt::format("'{}' is not a text", key));
  const auto world_size = start["world_size"].get<std::int64_t>(), workers = start["workers"].get<std::int64_t>();
  if (world_size < 1 || world_size > most_ranks || workers < 1 || workers > most_ranks)
    refuse(fmt::format("expected a world_size and workers from 1 to {}", most_ranks));
  if (start["rank"].get<std::int64_t>() != rank || rank >= world_size)
    refuse(fmt::format("belongs to rank {} of {}, but its name has rank {}", start["rank"].get<std::int64_t>(),
                       world_size, rank));
}

void check_result(const nlohmann::json& result, const fs::path& path, bool trained) {
  if (const std::optional<WrongFact> wrong = wrong_fact(result, trained))
    throw InvalidRecords(path.string() + ": " + wrong->found, wrong->expected, "start that rank again");
}

RankRecord read_record(const fs::path& folder, int attempt, int rank) {
  const RankFiles files = rank_files(folder, attempt, rank);
  RankRecord record;
  record.folder = folder;
  record.attempt = attempt;
  record.rank = rank;
  record.start = read_json(files.start, record.start_text).value_or(nlohmann::json::object());
  check_start(record.start, files.start, rank);
  record.scenario = read_foreign_file(files.scenario, largest_scenario_bytes).value_or("");
  record.run = read_run_name(files.run);
  record.result = read_json(files.result, record.result_text);
  if (record.result) check_result(*record.result, files.result, record.start.value("mode", "train") != "bench-comm");
  record.shards = read_shards(files.trace, rank);
  return record;
}

std::int64_t started_utc_ns(const RankRecord& record) { return record.start.value("started_utc_ns", std::int64_t{0}); }

// Identifies who numbers the attempts: each of torchrun's agents, or each host if the agent is unknown.
using Counter = std::array<std::string, 4>;
Counter counter_of(const RankRecord& record) {
  return {record.start.value("started_by", ""), record.start.value("job", ""), text_of(record.start, "agent"),
          record.start.value("host", "")};
}

// Attempts of one counter are ordered by number, because clocks can be changed. Others are ordered by time.
bool started_later(const RankRecord& one, const RankRecord& other) {
  const auto attempt_first = [](const RankRecord& record) { return std::pair(record.attempt, started_utc_ns(record)); };
  const auto time_first = [](const RankRecord& record) { return std::pair(started_utc_ns(record), record.attempt); };
  return counter_of(one) == counter_of(other) ? attempt_first(one) > attempt_first(other)
                                              : time_first(one) > time_first(other);
}

const RankRecord* last_started(const std::vector<RankRecord>& found) {
  std::map<Counter, const RankRecord*> last_of;
  for (const RankRecord& record : found) {
    const RankRecord*& last = last_of[counter_of(record)];
    if (last == nullptr || started_later(record, *last)) last = &record;
  }
  std::set<std::string> over;  // runs in which an agent has restarted a rank
  for (const RankRecord& record : found) {
    const RankRecord& last = *last_of[counter_of(record)];
    if (!record.run.empty() && last.attempt > record.attempt && last.run != record.run) over.insert(record.run);
  }
  const auto order = [&](const RankRecord* one) {
    return std::tuple(!over.contains(one->run), started_utc_ns(*one), one->attempt);
  };
  const RankRecord* last = nullptr;
  for (const auto& [counter, record] : last_of)
    if (last == nullptr || order(record) > order(last)) last = record;
  return last;
}

// Returns the records of the run that was started last. Each agent of torchrun counts its own attempts: ranks of one
// run may have different attempts, and ranks of one attempt may belong to different runs. `older` counts unused
// attempts.
std::vector<RankRecord> last_run(const std::vector<RankRecord>& found, int& older) {
  const RankRecord* last = last_started(found);
  std::set<int> attempts, taken;
  std::map<int, const RankRecord*> met;  // by rank
  for (const RankRecord& record : found) {
    attempts.insert(record.attempt);
    if (!last->run.empty() && record.run == last->run) met[record.rank] = &record;
  }
  const auto belongs = [&](const RankRecord& record) {
    if (last->run.empty()) return record.attempt == last->attempt;
    if (!record.run.empty()) return record.run == last->run;
    const auto place = met.find(record.rank);  // a rank that never met the others, if it was not restarted
    return record.attempt == last->attempt && (place == met.end() || started_later(record, *place->second));
  };
  std::vector<RankRecord> records;
  std::ranges::copy_if(found, std::back_inserter(records), belongs);
  for (const RankRecord& record : records) taken.insert(record.attempt);
  older = static_cast<int>(attempts.size() - taken.size());
  return records;
}

}  // namespace

std::string RankRecord::place() const {
  return fmt::format("rank {} (process {} on {})", rank, start.value("pid", std::int64_t{0}), start.value("host", "?"));
}

std::vector<RankRecord> read_rank_records(const fs::path& folder, int& older) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw UnusableFolder(folder.string() + (fs::exists(folder, error) ? " is not a folder" : ": no such folder"),
                         "a folder that ddpprof worker wrote with --out", "see docs/guide/starting.md");
  std::vector<RankRecord> found;
  for (const int attempt : launcher::attempts_in(folder)) {
    const fs::path place = folder / fmt::format("attempt-{}", attempt);
    check_foreign_folder(place);
    for (const int rank : launcher::ranks_in(place)) found.push_back(read_record(folder, attempt, rank));
  }
  std::vector<RankRecord> records = last_run(found, older);
  if (records.empty())
    throw UnusableFolder(folder.string() + " has no results of ranks", "a folder that ddpprof worker wrote with --out",
                         "see docs/guide/starting.md");
  return records;
}

}  // namespace ddpprof::ranks
