#include "runner/launcher/listening_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace ddpprof::launcher {

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), port_(std::exchange(other.port_, std::uint16_t{0})) {}

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(port_, other.port_);
  return *this;
}

void ListeningSocket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

ListeningSocket open_loopback_listener() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto fail = [&](const char* what) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    throw std::system_error(error, std::generic_category(), std::string("rendezvous on 127.0.0.1: ") + what);
  };
  if (descriptor < 0) fail("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = 0;
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (listen(descriptor, SOMAXCONN) != 0) fail("listen");
  socklen_t length = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) fail("getsockname");
  return ListeningSocket(descriptor, ntohs(address.sin_port));
}

}  // namespace ddpprof::launcher
