// Runs a user's command that may not end by itself: ends it when it has done enough, or when its time is over.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::launcher {

struct BoundedCommand {
  std::vector<std::string> argv;                   // argv[0] is a path, or a name to look up in PATH
  std::map<std::string, std::string> environment;  // added to this process's environment
  std::filesystem::path log;                       // receives standard output and error; standard input is empty
  std::chrono::milliseconds limit{};               // from the start to SIGTERM
  std::chrono::milliseconds grace{};               // from SIGTERM to SIGKILL
  std::function<bool()> enough;                    // called repeatedly; true: the command has done enough
  std::function<bool()> interrupted;               // called repeatedly; true: the user ends the run
};

struct BoundedEnd {
  enum class Reason { by_itself, enough, limit, interrupted } reason = Reason::by_itself;
  std::optional<int> exit_code, signal;  // of the command's process
  bool killed = false;                   // SIGKILL was needed
  std::chrono::duration<double> took{};
};

// Runs the command in a process group of its own, and returns after it and all processes that it started have ended.
// When `enough` returns true, the command has two more seconds to end by itself. SIGTERM goes to the process group,
// because launchers such as torchrun pass it on; SIGKILL goes to every descendant, also in other process groups. If
// this process is killed, a guardian kills the process groups that the command had a second before. No other child of
// this process may be started meanwhile. Throws std::system_error if the command cannot be started.
BoundedEnd run_bounded(const BoundedCommand&);

// Returns why this program, a path or a name to look up in PATH, cannot be started: "torchrunx: No such file or
// directory". Empty if it can be started.
std::string why_not_startable(const std::string& program);

}  // namespace ddpprof::launcher
