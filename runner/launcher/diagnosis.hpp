// Finds the rank that caused a failed run and writes the message. Pure: it works on snapshots, not on processes.
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
  std::optional<int> signal;      // the signal that ended the rank
  std::optional<int> stopped_by;  // the signal that stopped the rank, while it is stopped
  double idle_s = 0;              // seconds since its last progress
  std::vector<std::string> last_lines;
};

// Returns true if a rank waits for other ranks in this activity. A lack of progress is then not its own fault.
bool waits_for_others(Activity);

// Returns true if the rank ended by a signal, with an exit code other than 0, or with exit code 0 before it reported
// `done`. The other ranks then wait for it in vain.
bool has_failed(const Observation&);

// Returns true if the rank's last lines report a lost connection to another rank. The other rank may end a moment
// later, and is then the one to blame.
bool reports_lost_connection(const Observation&);

// Returns the rank that hangs, or -1 if none does. A rank that waits for other ranks hangs only if no rank makes
// progress. If several hang, returns a stopped rank, else the rank that is furthest behind, else the rank that is idle
// for the longest time.
int hung_rank(std::span<const Observation>, double limit_s);

// Returns the rank that caused the failure, or -1 if no rank failed. Order of preference: ranks whose last lines do not
// report a lost connection (another rank's end causes such a message), then a signal before an exit code, then the
// earliest step.
int failed_rank(std::span<const Observation>);

std::string place(const Status&);     // "step 17 of 55 (forward)", "its time before the first step (starting)"
std::string signal_name(int signal);  // "SIGSEGV"
std::string hang_message(std::span<const Observation>, int rank, double limit_s, const std::filesystem::path& log);
// `killer`: a sentence that names the process that sent SIGKILL to the rank; "" if it is not known.
std::string failure_message(std::span<const Observation>, int rank, const std::filesystem::path& log,
                            const std::string& killer = "");

// Returns at most the last 20 lines of a log, each cut to 400 bytes, with control characters replaced by '?'.
std::vector<std::string> last_lines(const std::filesystem::path& log);

}  // namespace ddpprof::launcher
