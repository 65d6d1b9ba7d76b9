// Says which rank is to blame when a run fails, and puts it into words. Pure: it sees snapshots, not processes.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runner/launcher/status_file.hpp"

namespace ddpprof::launcher {

struct Observation {
  Status status;
  bool running = true;
  std::optional<int> exit_code;
  std::optional<int> signal;      // that ended it
  std::optional<int> stopped_by;  // that stopped it, while it is stopped
  double idle_s = 0;              // since it last made progress
  std::vector<std::string> last_lines;
};

// An activity in which a rank waits for the others, so that standing still there says nothing about itself.
bool waits_for_others(Activity);

// An exit that leaves the others waiting: a signal, a code other than 0, or code 0 without having reported `done`.
bool ended_badly(const Observation&);

// Its last lines tell that another rank's connection was lost: that one may end a moment later, and is the one to
// blame.
bool tells_of_lost_connection(const Observation&);

// The rank that has hung, or -1 when none has. A rank that waits for others has hung only when nobody moves. Of
// several: a stopped one, else the one that is furthest behind, else the one that stands still longest.
int hung_rank(std::span<const Observation>, double limit_s);

// Of those that ended badly, the one that did so by itself: a signal before an exit code, and those whose last lines
// tell of a lost connection, which is what the others' deaths look like, last; of those the earliest step. -1: none.
int failed_rank(std::span<const Observation>);

std::string place(const Status&);     // "step 17 of 55 (forward)", "before its first step (starting)"
std::string signal_name(int signal);  // "SIGSEGV"
std::string hang_message(std::span<const Observation>, int rank, double limit_s, const std::filesystem::path& log);
// `killer`: a sentence on who ended a rank that SIGKILL ended, "" where nobody knows.
std::string failure_message(std::span<const Observation>, int rank, const std::filesystem::path& log,
                            const std::string& killer = "");

// At most 20 lines from the end of a log, each cut to 400 bytes, control characters made visible as '?'.
std::vector<std::string> last_lines(const std::filesystem::path& log);

}  // namespace ddpprof::launcher
