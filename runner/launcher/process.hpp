// One rank's process: started in a group of its own, watched, signalled and reaped. Private to this folder.
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
  std::map<std::string, std::string> environment;  // added to ours
  std::filesystem::path log;                       // standard output and error
  int inherited_descriptor = -1;                   // stays open in the process under the same number; -1: none
};

class Process {
 public:
  // Throws std::system_error, naming the program or the log, when it cannot be started.
  explicit Process(const ProcessOptions&);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kills what still runs and waits for it, 10 s at most

  pid_t pid() const { return pid_; }
  int descriptor() const { return pidfd_; }  // readable once the process ended; -1 on kernels before 5.3
  bool running() const { return pid_ > 0 && !exit_code_ && !signal_; }
  std::optional<int> exit_code() const { return exit_code_; }
  std::optional<int> signal() const { return signal_; }

  // Looks whether the process ended; then kills what is left of its group and reaps it.
  void update();
  std::optional<int> stopped_by() const;  // the signal that stopped it, while it is stopped
  void send(int signal) const;            // to its whole group
  void abandon() { pid_ = -1; }           // gives up on one that does not end even on SIGKILL

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::optional<int> exit_code_;
  std::optional<int> signal_;
};

}  // namespace ddpprof::launcher
