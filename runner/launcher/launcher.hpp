// Starts one process a rank, watches over them, and ends them all when one dies, hangs or the user says so.
//
// A rank reports what it does through its status page (status_page.hpp) and must report `done` before it exits with
// code 0; without that, an exit is a failure, since the other ranks would wait for it. Whatever happens, no process is
// left: each rank leads its own process group, which is killed with it, and when this process itself is killed, the
// kernel kills the ranks and a guardian process what they started.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/launcher/listening_socket.hpp"
#include "runner/launcher/status_file.hpp"

namespace ddpprof::launcher {

struct RankCommand {
  std::vector<std::string> argv = {};                   // argv[0]: a path, or a name to look up in PATH
  std::map<std::string, std::string> environment = {};  // added to ours; DDPPROF_STATUS_FILE is added for every rank
};

struct Progress {
  struct Rank {
    Status status = {};
    bool running = false;
  };
  std::vector<Rank> ranks = {};
  double elapsed_s = 0;
};

struct LaunchOptions {
  std::vector<RankCommand> ranks = {};
  std::filesystem::path run_directory =
      {};                               // gets rank-<r>.log (both output streams) and rank-<r>.status; made if missing
  double timeout_s = 120;               // no progress for this long, once training: a hang
  double start_timeout_s = 120;         // the same, until every rank is past the rendezvous; at least timeout_s
  double grace_s = 5;                   // between SIGTERM and SIGKILL
  ListeningSocket* listener = nullptr;  // goes to rank 0 as DDPPROF_MASTER_FD; closed here once rank 0 runs
  std::function<void(const Progress&)> on_progress = {};  // about 5 times a second
  std::function<std::string()> who_kills = {};            // asked once a rank was killed: a sentence, "" for unknown
  std::function<bool()> interrupted = {};                 // true: end all ranks; asked at least 10 times a second
};

struct RankExit {
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  Status status = {};  // the last it reported
};

struct LaunchResult {
  enum class Outcome { ok, rank_failed, hung, interrupted, could_not_start };

  Outcome outcome = Outcome::ok;
  int rank = -1;                           // the one to blame, -1: none or nobody in particular
  Activity activity = Activity::starting;  // what it did, and in which step, when it failed
  std::int64_t step = -1;
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};            // that ended it, or that stopped it (hung)
  std::vector<std::string> last_lines = {};  // of its log, at most 20
  std::int64_t wall_ns = 0;
  std::vector<RankExit> ranks = {};  // those that were started
  std::string message = {};          // whole sentences for the user; "" when ok
};

const char* to_string(LaunchResult::Outcome);

// Returns once every rank has ended. Never throws for what a rank does; an exception out of a callback ends all ranks
// and is passed on. The calling thread must be the one that returns: the kernel kills the ranks with it.
LaunchResult launch(const LaunchOptions&);

}  // namespace ddpprof::launcher
