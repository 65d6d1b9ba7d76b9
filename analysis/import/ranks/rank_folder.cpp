#include "analysis/import/ranks/rank_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "analysis/import/ranks/error.hpp"
#include "analysis/import/ranks/foreign_file.hpp"
#include "runner/host/network.hpp"
#include "runner/launcher/master.hpp"

namespace ddpprof::ranks {
namespace {

namespace fs = std::filesystem;
using launcher::attempts_in;
using launcher::ranks_in;

constexpr std::uint64_t largest_start_bytes = 16u << 20;  // a thousand times the usual size
constexpr const char* marker_name =
    "made-by-ddpprof-worker";  // differs from the marker of a database's folder, which --overwrite removes

void remove_rank(const fs::path& folder, int attempt, int rank) {
  try {
    launcher::remove_rank_files(rank_files(folder, attempt, rank), rank);
  } catch (const fs::filesystem_error& error) {
    throw CannotWrite(fmt::format("cannot remove {}: {}", error.path1().string(), error.code().message()));
  }
}

bool runs(const std::string& host, std::int64_t pid) {
  return host == host::host_name() && pid != getpid() && launcher::program_of(pid).starts_with("ddpprof");
}

// Returns true if torchrun's agent on this host has started ranks in this folder before and they have ended: this rank
// is then a restart. The agent's restart count does not show it: it leaves out restarts that another agent's rank
// caused.
bool restarted(const fs::path& folder, const std::string& agent) {
  if (agent.empty()) return false;
  for (const int attempt : attempts_in(folder)) {
    for (const int rank : ranks_in(folder / fmt::format("attempt-{}", attempt))) {
      const fs::path path = rank_files(folder, attempt, rank).start;
      const nlohmann::json start =
          nlohmann::json::parse(read_foreign_file(path, largest_start_bytes).value_or(""), nullptr, false);
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
  bool alive = false;  // a ddpprof process of this host with this number runs
  bool meets = false;  // it waits at the same meeting place for the same number of ranks
};

Owner owner_of(const RankFiles& files, const launcher::Start& own) {
  const nlohmann::json start =
      nlohmann::json::parse(read_foreign_file(files.start, largest_start_bytes).value_or(""), nullptr, false);
  const auto host_found = start.find("host"), pid_found = start.find("pid");  // end() too if `start` is not an object
  if (host_found == start.end() || !host_found->is_string() || pid_found == start.end() || !pid_found->is_number())
    return {"an unknown process"};
  Owner owner;
  const auto host = host_found->get<std::string>();
  const auto pid = pid_found->get<std::int64_t>();
  owner.text = fmt::format("process {} on {}", pid, host);
  owner.alive = runs(host, pid);
  const auto is = [&](const char* key, const nlohmann::json& expected) {
    return start.contains(key) && start[key] == expected;
  };
  owner.meets = own.world_size > 1 && is("world_size", own.world_size) && is("meeting", meeting_place(own));
  return owner;
}

// Several ranks may do this at the same time. The marker is the first file in the folder.
void make_folder(const fs::path& folder) {
  std::error_code error;
  const bool made = fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    throw UnusableFolder(
        fmt::format("--out: cannot make the folder {}{}", folder.string(), error ? ": " + error.message() : ""),
        "a folder that can be written to", "give another path");
  const fs::path marker = folder / marker_name;
  if (!made && !fs::exists(marker) && !fs::is_empty(folder, error) && !fs::exists(marker))
    throw UnusableFolder("--out: " + folder.string() + " was not made by ddpprof and is left alone",
                         "a new or empty folder, or one of an earlier ddpprof worker", "give another path");
  if (!fs::exists(marker) && !std::ofstream(marker, std::ios::app))
    throw CannotWrite("cannot write " + marker.string(), "", "check the folder's permissions");
}

RankFiles made(const RankFiles& files) {
  std::error_code error;
  fs::create_directories(files.trace, error);
  if (error) throw CannotWrite("cannot make the folder " + files.trace.string() + ": " + error.message());
  return files;
}

}  // namespace

std::string meeting_place(const launcher::Start& start) {
  return fmt::format("{}:{}/{}", start.master_address, start.master_port, start.run_id);
}

RankFiles claim_rank_files(const fs::path& folder, const launcher::Start& start, const std::string& agent,
                           bool overwrite, bool gathers) {
  make_folder(folder);
  RankFiles files = rank_files(folder, start.attempt, start.rank);
  std::optional<bool> restart;  // computed once: it reads every rank's start file
  for (const int attempt : attempts_in(folder)) {
    if (attempt < start.attempt) continue;  // an attempt that this one restarts; its files stay
    for (const int rank : ranks_in(folder / fmt::format("attempt-{}", attempt))) {
      if (rank != start.rank && rank < start.world_size) {
        // Each rank handles its own files. A rank with a result belongs to an earlier run, because rank 0 of this run
        // starts only now. A rank without a result may be running on another host or in another container.
        const bool in_the_way =
            gathers && !overwrite && attempt == start.attempt && fs::exists(rank_files(folder, attempt, rank).result);
        if (!in_the_way) continue;
      }
      if (!restart) restart = restarted(folder, agent);
      if (*restart) return made(rank_files(folder, free_attempt(folder, start), start.rank));
      const Owner owner = owner_of(rank_files(folder, attempt, rank), start);
      if (owner.alive && owner.meets && rank == start.rank && attempt == start.attempt) {
        files = launcher::rank_files_in(files.folder / fmt::format("twice-{}", getpid()), start.rank);
        continue;
      }
      if (!overwrite || owner.alive)
        throw UnusableFolder(
            fmt::format("--out: {} holds rank {} of {}{}", folder.string(), rank, owner.text,
                        owner.alive ? ", which still runs" : ": an earlier run, or this RANK was given twice"),
            "a folder without results",
            owner.alive ? "give another folder" : "give --overwrite on every rank, or another folder");
      remove_rank(folder, attempt, rank);
    }
  }
  return made(files);
}

bool is_rank_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / marker_name, error)) return true;
  return fs::is_directory(folder, error) && !attempts_in(folder).empty();
}

}  // namespace ddpprof::ranks
