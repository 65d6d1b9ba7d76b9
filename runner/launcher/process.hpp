// One rank's process: starts it in its own process group, watches, signals and reaps it. Private to this folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::launcher {

struct ProcessOptions {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // added to this process's environment
  std::filesystem::path log;                       // standard output and error
  int inherited_descriptor = -1;                   // stays open in the rank under the same number; -1: none
};

// Returns the path of a program: a name without a slash is looked up in PATH. Returns the name if no folder has it.
std::string program_path(const std::string& name);

class Process {
 public:
  // Throws std::system_error with the name of the program or the log if the process cannot be started.
  explicit Process(const ProcessOptions&);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kills the group and waits for the process, at most 10 s

  pid_t pid() const { return pid_; }
  int descriptor() const { return pidfd_; }  // readable after the process has ended; -1 on kernels before 5.3
  bool running() const { return pid_ > 0 && !exit_code_ && !signal_; }
  std::optional<int> exit_code() const { return exit_code_; }
  std::optional<int> signal() const { return signal_; }

  // Checks if the process has ended. If so, kills the rest of its group and reaps the process.
  void update();
  std::optional<int> stopped_by() const;  // the signal that stopped it, while it is stopped
  void send(int signal) const;            // to its whole group
  void abandon() { pid_ = -1; }           // stops watching a process that does not end on SIGKILL

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::optional<int> exit_code_;
  std::optional<int> signal_;
};

}  // namespace ddpprof::launcher
