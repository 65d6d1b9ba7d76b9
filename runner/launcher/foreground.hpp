// Runs somebody's own command in the foreground as if it stood alone: its terminal, its streams, its signals, its end.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::launcher {

struct ForegroundEnd {
  std::optional<int> exit_code;  // none: a signal ended it
  std::optional<int> signal;
  int start_error = 0;  // errno of why it could not be started; then nothing ran

  // As a shell gives it: the code, 128 + the signal, 127 for a command that is not there, 126 for one that cannot run.
  int shell_code() const;
};

// A signal that is ours, not the command's: it is not passed on, `act` is called instead, on the calling thread.
struct OwnSignal {
  int number = 0;  // 0: none
  std::function<void()> act;
  // Called once the command has ended or could not be started, while signals still wait: where to say what becomes of
  // those that come later. May be empty.
  std::function<void()> ended;
};

// `argv[0]`: a path, or a name to look up in PATH. `environment`: added to ours. The command stays in this process's
// group, so that what reaches the group (a terminal's Ctrl-C and Ctrl-Z, what timeout(1) sends) reaches it by itself;
// signals that are sent to this process alone (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT) are passed
// on to it, unless one is `own`. Returns once it has ended; what it started and left running goes on, and that it
// stopped is not told. The calling thread must be the only one that waits for children.
ForegroundEnd run_foreground(const std::vector<std::string>& argv,
                             const std::map<std::string, std::string>& environment, const OwnSignal& own = {});

}  // namespace ddpprof::launcher
