// A helper process that kills the ranks' process groups after the launcher was killed. Private to this folder.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace ddpprof::launcher {

// When the launcher is killed, the kernel kills the ranks, but not the processes that a rank has started. The guardian
// kills these. It detects the launcher's end by the end of a socket.
class Guardian {
 public:
  static constexpr std::size_t most_groups = 4096;  // watched at the same time

  Guardian();  // throws std::system_error
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  ~Guardian();  // ends the helper without killing any group

  void watch(pid_t group);
  void forget(pid_t group);  // for a reaped group: its number may be reused from now on

 private:
  void send(pid_t group, int order);

  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace ddpprof::launcher
