// The socket on which rank 0 serves the store. It exists before any rank does.
#pragma once

#include <cstdint>

namespace ddpprof::launcher {

inline constexpr const char* master_fd_variable =
    "DDPPROF_MASTER_FD";  // rank 0: the descriptor of the socket on which it serves the store

// A bound, listening, close-on-exec socket. Rank 0 opens or inherits it, so that no other program can take the port
// between its choice and its use. Connections of early ranks wait in the backlog.
class ListeningSocket {
 public:
  ListeningSocket() = default;  // no socket
  ListeningSocket(int descriptor, std::uint16_t port) : descriptor_(descriptor), port_(port) {}
  ListeningSocket(ListeningSocket&&) noexcept;
  ListeningSocket& operator=(ListeningSocket&&) noexcept;
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  ~ListeningSocket() { close(); }

  int descriptor() const { return descriptor_; }  // -1: none
  std::uint16_t port() const { return port_; }
  void close();

 private:
  int descriptor_ = -1;
  std::uint16_t port_ = 0;
};

// Returns a socket that listens on 127.0.0.1 only, on a port that the kernel chooses. Throws std::system_error.
ListeningSocket open_loopback_listener();

}  // namespace ddpprof::launcher
