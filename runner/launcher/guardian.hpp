// A small process that outlives a killed launcher just long enough to kill its ranks' process groups. Private.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace ddpprof::launcher {

// The kernel kills a rank when its launcher dies, but not what the rank has started; the guardian does. It sees the
// launcher's death as the end of a socket.
class Guardian {
 public:
  static constexpr std::size_t most_groups = 4096;  // that it watches over at once

  Guardian();  // throws std::system_error
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  ~Guardian();  // it ends without killing anything

  void watch(pid_t group);
  void forget(pid_t group);  // reaped: the number may belong to somebody else from now on

 private:
  void send(pid_t group, int order);

  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace ddpprof::launcher
