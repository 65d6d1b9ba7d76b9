// Starts one process per rank, watches them, and ends all of them when one fails or hangs, or when the user interrupts.
//
// A rank reports its activity through its status page (status_page.hpp). It must report `done` before it exits with
// code 0. Otherwise the exit counts as a failure, because the other ranks would wait for it. No process is left
// running: each rank leads its own process group, which is killed with it. If this process is killed, the kernel kills
// the ranks, and a guardian process kills the processes that the ranks have started.
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
  std::vector<std::string> argv = {};  // argv[0]: a path, or a name to look up in PATH
  std::map<std::string, std::string> environment =
      {};  // added to this process's; DDPPROF_STATUS_FILE is added for every rank
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
      {};                        // receives rank-<r>.log (both output streams) and rank-<r>.status; created if missing
  double timeout_s = 120;        // during training: no progress for this long is a hang
  double start_timeout_s = 120;  // until every rank is past the rendezvous; at least timeout_s
  double grace_s = 5;            // between SIGTERM and SIGKILL
  ListeningSocket* listener = nullptr;  // passed to rank 0 as DDPPROF_MASTER_FD; closed here after rank 0 has started
  std::function<void(const Progress&)> on_progress = {};  // about 5 times a second
  std::function<std::string()> who_kills =
      {};  // called once after SIGKILL ended a rank: returns a sentence that names the sender, or ""
  std::function<bool()> interrupted = {};  // returns true: end all ranks; called at least 10 times a second
};

struct RankExit {
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  Status status = {};  // the last status it reported
};

struct LaunchResult {
  enum class Outcome { ok, rank_failed, hung, interrupted, could_not_start };

  Outcome outcome = Outcome::ok;
  int rank = -1;                           // the rank that caused the failure; -1: none
  Activity activity = Activity::starting;  // its activity when it failed; `step`: its step
  std::int64_t step = -1;
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};            // the signal that ended it, or (hung) that stopped it
  std::vector<std::string> last_lines = {};  // at most 20 lines of its log
  std::int64_t wall_ns = 0;
  std::vector<RankExit> ranks = {};  // the ranks that were started
  std::string message = {};          // whole sentences for the user; "" if ok
};

const char* to_string(LaunchResult::Outcome);

// Starts the ranks and returns after all of them have ended. A failure of a rank is reported in the result, not thrown.
// An exception from a callback ends all ranks and is passed on. The calling thread must not end before launch()
// returns, because the kernel kills the ranks when the thread that started them ends.
LaunchResult launch(const LaunchOptions&);

}  // namespace ddpprof::launcher
