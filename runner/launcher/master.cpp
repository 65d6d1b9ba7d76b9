#include "runner/launcher/master.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace ddpprof::launcher {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds one_address{5'000};  // the kernel repeats a connection request after 1 and 3 s
constexpr milliseconds first_pause{20}, longest_pause{500};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, std::uint16_t port, int& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  return {error == 0 ? found : nullptr, freeaddrinfo};
}

// Returns the errno of the attempt, or 0 if the connection was accepted.
int try_to_connect(const addrinfo& target, milliseconds limit) {
  const int socket_fd = socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return errno;
  int error = connect(socket_fd, target.ai_addr, target.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    const auto end = Clock::now() + limit;
    pollfd ready{.fd = socket_fd, .events = POLLOUT, .revents = 0};
    int found = 0;
    do {
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
      found = poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(0, left)));
    } while (found < 0 && errno == EINTR);
    socklen_t length = sizeof error;
    if (found == 0) {
      error = ETIMEDOUT;
    } else if (found < 0 || getsockopt(socket_fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
      error = errno;
    }
  }
  close(socket_fd);
  return error;
}

// Tries all addresses within `limit`. Returns 0 if one accepts; otherwise the most specific error: a refusal if there
// was one, because it comes from the host itself.
int try_all(const addrinfo* first, milliseconds limit) {
  int best = 0;
  std::int64_t left = 0;
  for (const addrinfo* target = first; target != nullptr; target = target->ai_next) ++left;
  const auto end = Clock::now() + limit;
  for (const addrinfo* target = first; target != nullptr; target = target->ai_next) {
    const auto rest = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    const int error = try_to_connect(*target, std::max(rest / left--, milliseconds{50}));
    if (error == 0) return 0;
    if (best == 0 || error == ECONNREFUSED) best = error;
  }
  return best == 0 ? EADDRNOTAVAIL : best;
}

std::string failure_text(const std::string& place, int error, double waited_s) {
  switch (error) {
    case ECONNREFUSED:
      return fmt::format(
          "nothing listens at {}: the connection was refused for {:.3g} s. Is rank 0 running there, and "
          "what did it say? Check MASTER_ADDR and MASTER_PORT",
          place, waited_s);
    case ETIMEDOUT:
      return fmt::format(
          "no answer from {} for {:.3g} s: a firewall between the hosts drops the connection, or "
          "MASTER_ADDR is not rank 0's address",
          place, waited_s);
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
      return fmt::format("no route to {} for {:.3g} s ({}): MASTER_ADDR is not rank 0's address, or a network is down",
                         place, waited_s, std::strerror(error));
    default:
      return fmt::format("{} cannot be reached for {:.3g} s: {}", place, waited_s, std::strerror(error));
  }
}

}  // namespace

void reach_master(const std::string& address, std::uint16_t port, milliseconds timeout) {
  const auto begin = Clock::now();
  const auto end = begin + timeout;
  const std::string place = fmt::format("{}:{}", address, port);
  const auto waited_s = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  milliseconds pause = first_pause;
  while (true) {
    int error = 0;
    const Addresses found = resolve(address, port, error);
    if (error != 0) {
      if (Clock::now() - begin >= std::min(timeout, name_patience))
        throw MasterError(
            fmt::format("MASTER_ADDR={} does not resolve ({}), tried for {:.3g} s: expected rank 0's host "
                        "name or address",
                        address, gai_strerror(error), waited_s()));
    } else {
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      const int failed = try_all(found.get(), std::clamp(left, milliseconds{100}, one_address));
      if (failed == 0) return;
      if (Clock::now() >= end) throw MasterError(failure_text(place, failed, waited_s()));
    }
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    std::this_thread::sleep_for(std::clamp(left, milliseconds{1}, pause));
    pause = std::min(2 * pause, longest_pause);
  }
}

}  // namespace ddpprof::launcher
