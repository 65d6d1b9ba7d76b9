#include "cli/rank_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "cli/subcommand.hpp"
#include "runner/host/network.hpp"
#include "runner/launcher/master.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_ranks = 1 << 20;
constexpr const char* marker_name = "made-by-ddpprof-worker";  // not a database's folder, which --overwrite removes

// The number in "rank-12.json" after `prefix` and before `suffix`; -1 when the name is another one.
int number_in(const std::string& name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return -1;
  int number = -1;
  const char* begin = name.data() + prefix.size();
  const char* end = name.data() + name.size() - suffix.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end && number >= 0 ? number : -1;
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

void remove_rank(const fs::path& folder, int attempt, int rank) {
  const RankFiles files = rank_files(folder, attempt, rank);
  std::vector<fs::path> old = shards_of(files.trace, rank);
  // The start file last: as long as it is there, the rank counts as there.
  old.insert(old.end(), {files.scenario, files.run, files.result, files.start});
  for (const fs::path& path : old) {
    std::error_code error;
    fs::remove(path, error);
    if (error) throw Failure(ExitCode::failed, "cannot remove " + path.string() + ": " + error.message());
  }
}

RankFiles files_in(const fs::path& folder, int rank) {
  RankFiles files;
  files.folder = folder;
  files.start = folder / fmt::format("rank-{}.json", rank);
  files.scenario = folder / fmt::format("scenario-{}.yaml", rank);
  files.run = folder / fmt::format("run-{}.json", rank);
  files.result = folder / fmt::format("result-{}.json", rank);
  files.trace = folder / "trace";
  return files;
}

bool runs(const std::string& host, std::int64_t pid) {
  return host == host::host_name() && pid != getpid() && launcher::program_of(pid).starts_with("ddpprof");
}

// Whether torchrun's agent on this host has started ranks here before, which have ended: this one is then started anew.
// Its own count does not say so: an agent counts what failed at itself, not what it starts anew for the others' sake.
bool started_anew(const fs::path& folder, const std::string& agent) {
  if (agent.empty()) return false;
  for (const int attempt : attempts_in(folder)) {
    for (const int rank : ranks_in(folder / fmt::format("attempt-{}", attempt))) {
      std::ifstream file(rank_files(folder, attempt, rank).start);
      const nlohmann::json start = nlohmann::json::parse(file, nullptr, false);
      const auto is = [&](const char* key, const std::string& value) {
        return start.contains(key) && start[key] == value;
      };
      if (!start.is_object() || !is("agent", agent) || !is("host", host::host_name())) continue;
      const bool known = start.contains("pid") && start["pid"].is_number_integer();
      if (known && !runs(host::host_name(), start["pid"].get<std::int64_t>())) return true;
    }
  }
  return false;
}

int free_attempt(const fs::path& folder, const launcher::Start& start) {
  int attempt = start.attempt;
  while (fs::exists(rank_files(folder, attempt, start.rank).start)) ++attempt;
  return attempt;
}

struct Owner {
  std::string text;    // "process 71 on gpu03"
  bool alive = false;  // a process of this host, and it is one of ours
  bool meets = false;  // where a process started so comes to, and waits for as many ranks
};

Owner owner_of(const RankFiles& files, const launcher::Start& own) {
  std::ifstream file(files.start);
  const nlohmann::json start = nlohmann::json::parse(file, nullptr, false);
  if (!start.is_object()) return {"a process that left no word", false};
  Owner owner;
  const std::string host = start.value("host", "?");
  const auto pid = start.value("pid", std::int64_t{0});
  owner.text = fmt::format("process {} on {}", pid, host);
  owner.alive = runs(host, pid);
  owner.meets = own.world_size > 1 && start.value("world_size", 0) == own.world_size &&
                start.value("meeting", "") == meeting_place(own);
  return owner;
}

// Several ranks may do this at once: whatever is in the folder, the marker is there first.
void make_folder(const fs::path& folder) {
  std::error_code error;
  const bool made = fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    throw Failure(
        ExitCode::usage,
        fmt::format("--out: cannot make the folder {}{}", folder.string(), error ? ": " + error.message() : ""),
        "a folder that can be written to", "give another path");
  const fs::path marker = folder / marker_name;
  if (!made && !fs::exists(marker) && !fs::is_empty(folder, error) && !fs::exists(marker))
    throw Failure(ExitCode::usage, "--out: " + folder.string() + " was not made by ddpprof and is left alone",
                  "a new or empty folder, or one of an earlier ddpprof worker", "give another path");
  if (!fs::exists(marker) && !std::ofstream(marker, std::ios::app))
    throw Failure(ExitCode::failed, "cannot write " + marker.string(), "", "may this user write there?");
}

nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  const nlohmann::json parsed = nlohmann::json::parse(file, nullptr, false);
  if (!parsed.is_object())
    throw Failure(ExitCode::data, path.string() + " cannot be read", "what ddpprof worker wrote",
                  "start that rank again");
  return parsed;
}

// Files of other hosts: nothing in them is taken for granted. Throws Failure (data).
void check_start(const nlohmann::json& start, const fs::path& path, int rank) {
  const auto refuse = [&](const std::string& what) {
    throw Failure(ExitCode::data, path.string() + ": " + what, "what ddpprof worker wrote", "start that rank again");
  };
  for (const char* key : {"rank", "world_size", "workers", "pid", "started_utc_ns"})
    if (!start.contains(key) || !start[key].is_number_integer()) refuse(fmt::format("'{}' is no whole number", key));
  for (const char* key : {"host", "strategy", "trained_with", "scenario_source", "scenario_file"})
    if (!start.contains(key) || !start[key].is_string()) refuse(fmt::format("'{}' is no text", key));
  for (const char* key : {"mode", "started_by", "job"})
    if (start.contains(key) && !start[key].is_string()) refuse(fmt::format("'{}' is no text", key));
  const auto world_size = start["world_size"].get<std::int64_t>(), workers = start["workers"].get<std::int64_t>();
  if (world_size < 1 || world_size > most_ranks || workers < 1 || workers > most_ranks)
    refuse(fmt::format("expected a world_size and workers from 1 to {}", most_ranks));
  if (start["rank"].get<std::int64_t>() != rank || rank >= world_size)
    refuse(fmt::format("is of rank {} of {}, its name says {}", start["rank"].get<std::int64_t>(), world_size, rank));
}

RankRecord read_record(const fs::path& folder, int attempt, int rank) {
  const RankFiles files = rank_files(folder, attempt, rank);
  RankRecord record;
  record.folder = folder;
  record.attempt = attempt;
  record.rank = rank;
  record.start = read_json(files.start);
  check_start(record.start, files.start, rank);
  std::ifstream scenario(files.scenario);
  record.scenario.assign(std::istreambuf_iterator<char>(scenario), {});
  if (fs::exists(files.run)) record.run = read_json(files.run).value("run", "");
  if (fs::exists(files.result)) record.result = read_json(files.result);
  record.shards = shards_of(files.trace, rank);
  return record;
}

RankFiles made(const RankFiles& files) {
  std::error_code error;
  fs::create_directories(files.trace, error);
  if (error) throw Failure(ExitCode::failed, "cannot make the folder " + files.trace.string() + ": " + error.message());
  return files;
}

// What the folder holds of the run that was started last. Agents of torchrun count their attempts each for itself: the
// ranks of one run may be of different attempts, and ranks of one attempt of different runs. `older`: attempts of which
// nothing is taken.
std::vector<RankRecord> last_run(std::vector<RankRecord>& found, int& older) {
  const auto age = [](const RankRecord& record) {
    return std::pair(record.start.value("started_utc_ns", std::int64_t{0}), record.attempt);
  };
  const auto last = std::ranges::max_element(found, {}, age);
  std::set<int> attempts, taken;
  std::map<int, std::int64_t> met;  // rank: when it started
  for (const RankRecord& record : found) {
    attempts.insert(record.attempt);
    if (!last->run.empty() && record.run == last->run) met[record.rank] = age(record).first;
  }
  const auto belongs = [&](const RankRecord& record) {
    if (last->run.empty()) return record.attempt == last->attempt;
    if (!record.run.empty()) return record.run == last->run;
    const auto place = met.find(record.rank);  // a rank that never met the others, unless it was started anew
    return record.attempt == last->attempt && (place == met.end() || place->second < age(record).first);
  };
  std::vector<RankRecord> records;
  std::ranges::copy_if(found, std::back_inserter(records), belongs);
  for (const RankRecord& record : records) taken.insert(record.attempt);
  older = static_cast<int>(attempts.size() - taken.size());
  return records;
}

}  // namespace

std::string meeting_place(const launcher::Start& start) {
  return fmt::format("{}:{}/{}", start.master_address, start.master_port, start.run_id);
}

RankFiles rank_files(const fs::path& folder, int attempt, int rank) {
  return files_in(folder / fmt::format("attempt-{}", attempt), rank);
}

RankFiles claim_rank_files(const fs::path& folder, const launcher::Start& start, const std::string& agent,
                           bool overwrite) {
  make_folder(folder);
  RankFiles files = rank_files(folder, start.attempt, start.rank);
  for (const int attempt : attempts_in(folder)) {
    if (attempt < start.attempt) continue;  // torchrun started this one anew: what it is to follow stays
    for (const int rank : ranks_in(folder / fmt::format("attempt-{}", attempt))) {
      if (rank != start.rank && rank < start.world_size) continue;  // that rank sees to its own
      if (started_anew(folder, agent)) return made(rank_files(folder, free_attempt(folder, start), start.rank));
      const Owner owner = owner_of(rank_files(folder, attempt, rank), start);
      if (owner.alive && owner.meets && rank == start.rank && attempt == start.attempt) {
        files = files_in(files.folder / fmt::format("twice-{}", getpid()), start.rank);
        continue;
      }
      if (!overwrite || owner.alive)
        throw Failure(
            ExitCode::usage,
            fmt::format("--out: {} holds rank {} of {}{}", folder.string(), rank, owner.text,
                        owner.alive ? ", which still runs" : ": an earlier run, or this RANK was given twice"),
            "a folder without results",
            owner.alive ? "give another folder" : "give --overwrite on every rank, or another folder");
      remove_rank(folder, attempt, rank);
    }
  }
  return made(files);
}

std::string RankRecord::place() const {
  return fmt::format("rank {} (process {} on {})", rank, start.value("pid", std::int64_t{0}), start.value("host", "?"));
}

bool is_rank_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / marker_name, error)) return true;
  return fs::is_directory(folder, error) && !attempts_in(folder).empty();
}

std::vector<RankRecord> read_rank_records(const fs::path& folder, int& older) {
  if (!fs::is_directory(folder))
    throw Failure(ExitCode::usage, folder.string() + (fs::exists(folder) ? " is no folder" : ": no such folder"),
                  "a folder that ddpprof worker wrote with --out", "see docs/starting.md");
  std::vector<RankRecord> found;
  for (const int attempt : attempts_in(folder))
    for (const int rank : ranks_in(folder / fmt::format("attempt-{}", attempt)))
      found.push_back(read_record(folder, attempt, rank));
  std::vector<RankRecord> records = last_run(found, older);
  if (records.empty())
    throw Failure(ExitCode::usage, folder.string() + " holds no rank's results",
                  "a folder that ddpprof worker wrote with --out", "see docs/starting.md");
  return records;
}

}  // namespace ddpprof::cli
