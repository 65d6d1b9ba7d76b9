// Returns true if a process listens at an IPv4 address and port.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace ddpprof::launcher::test {

inline bool connects(const char* address, std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(port);
  inet_pton(AF_INET, address, &target.sin_addr);
  const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0;
  close(fd);
  return connected;
}

}  // namespace ddpprof::launcher::test
