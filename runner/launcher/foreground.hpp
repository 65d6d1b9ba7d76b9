// Runs the user's command in the foreground with its own terminal, streams, signals and exit status.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::launcher {

struct ForegroundEnd {
  std::optional<int> exit_code;  // nullopt: a signal ended the command
  std::optional<int> signal;
  int start_error = 0;  // errno if the command could not be started, else 0

  // Returns the exit code as a shell does: the code; 128 + the signal; 127 if the command is missing; 126 if it cannot
  // run.
  int shell_code() const;
};

// A signal for this process. It is not passed on to the command: `act` is called instead, on the calling thread.
struct OwnSignal {
  int number = 0;  // 0: none
  std::function<void()> act;
  // Called when the command has ended or could not be started, while signals are still blocked. It may set what later
  // signals do. May be empty.
  std::function<void()> ended;
};

// Runs a command and returns after it has ended. `argv[0]` is a path, or a name to look up in PATH. `environment` is
// added to this process's environment. The command stays in this process group, so that it receives signals to the
// group directly (Ctrl-C and Ctrl-Z in a terminal, timeout(1)). Signals to this process alone (SIGINT, SIGTERM, SIGHUP,
// SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT) are passed on to the command, except `own`. Processes that the command leaves in
// the background keep running. A stop of the command is not reported. No other thread may wait for children.
ForegroundEnd run_foreground(const std::vector<std::string>& argv,
                             const std::map<std::string, std::string>& environment, const OwnSignal& own = {});

}  // namespace ddpprof::launcher
