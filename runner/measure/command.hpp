// Runs a program with a time limit and returns its output.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ddpprof::measure {

struct CommandOutcome {
  bool started = false;
  bool timed_out = false;    // it was killed, with all processes that it had started
  bool interrupted = false;  // Ctrl-C or SIGTERM arrived; the program was killed
  int exit_code = -1;        // -1: ended by `signal`, or never started
  int signal = 0;
  std::string output, errors;  // standard output and standard error, at most 64 KiB each
  std::string error;           // why it was not started
  double seconds = 0;
};

// `argv[0]` is a path. Standard input is empty. Returns within about `limit`. No InterruptionGuard may exist meanwhile.
CommandOutcome run_command(const std::vector<std::string>& argv, std::chrono::milliseconds limit);

}  // namespace ddpprof::measure
