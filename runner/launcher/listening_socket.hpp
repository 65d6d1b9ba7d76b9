// The socket on which rank 0 serves the store. It exists before any rank does.
#pragma once

#include <cstdint>

namespace ddpprof::launcher {

inline constexpr const char* master_fd_variable = "DDPPROF_MASTER_FD";  // rank 0: the socket to serve the store on

// Bound and listening, close-on-exec. Rank 0 serves on it or inherits it, so no other program can take the port between
// choosing and using it, and ranks that are early wait in its backlog.
class ListeningSocket {
 public:
  ListeningSocket() = default;  // none
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

// On 127.0.0.1 alone; the kernel picks the port. Throws std::system_error.
ListeningSocket open_loopback_listener();

}  // namespace ddpprof::launcher
