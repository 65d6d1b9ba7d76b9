#include "runner/launcher/master.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

namespace ddpprof::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds one_address{5'000};  // a connection request is repeated after 1 and 3 s: later ones add nothing
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

bool is_loopback(const std::string& address) {
  in_addr v4{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return address == "localhost" || address == "::1";
}

// errno of the attempt, 0 when somebody accepted.
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

// Of several addresses, which share the time, the answer that says most: a refusal comes from the host itself.
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

std::string what_came_back(const std::string& place, int error, double waited_s) {
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
      return fmt::format("no way to {} for {:.3g} s ({}): MASTER_ADDR is not rank 0's address, or a network is down",
                         place, waited_s, std::strerror(error));
    default:
      return fmt::format("{} cannot be reached for {:.3g} s: {}", place, waited_s, std::strerror(error));
  }
}

// The inodes of sockets that listen on the port: /proc/net/tcp has "sl local:port remote:port state … inode".
std::set<std::string> listening_inodes(std::uint16_t port) {
  constexpr const char* listening = "0A";
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // the heading
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      if (!fields || state != listening) continue;
      unsigned number = 0;
      const std::size_t colon = local.rfind(':');
      std::from_chars(local.data() + colon + 1, local.data() + local.size(), number, 16);
      if (number == port) inodes.insert("socket:[" + inode + "]");
    }
  }
  return inodes;
}

}  // namespace

std::string program_of(std::int64_t pid) {
  const fs::path process = fmt::format("/proc/{}", pid);
  // Its own file even in the middle of exec, when the command line is empty; hidden for another user's process.
  std::error_code hidden;
  std::string path = fs::read_symlink(process / "exe", hidden).string();
  if (hidden) {
    std::ifstream file(process / "cmdline");
    std::getline(file, path, '\0');
  }
  return fs::path(path).filename().string();
}

std::optional<std::string> port_holder(std::uint16_t port) {
  const std::set<std::string> inodes = listening_inodes(port);
  if (inodes.empty()) return std::nullopt;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code hidden;  // another user's
    for (const auto& descriptor : fs::directory_iterator(process.path() / "fd", hidden)) {
      const fs::path target = fs::read_symlink(descriptor.path(), hidden);
      if (!hidden && inodes.contains(target.string()))
        return fmt::format("process {} ({})", pid, program_of(std::stoll(pid)));
    }
  }
  return std::nullopt;
}

ListeningSocket open_master(const std::string& address, std::uint16_t port) {
  const bool loopback = is_loopback(address);
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port = htons(port);
  v6.sin6_addr = loopback ? in6addr_loopback : in6addr_any;
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_ANY);
  if (loopback && inet_pton(AF_INET, address.c_str(), &v4.sin_addr) != 1) v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

  const auto listen_on = [&](int family, const sockaddr* place, socklen_t length, int& error) {
    const int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1, no = 0;
    // Without it a port stays taken for a minute after a run. It never lets two processes listen at once.
    if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (descriptor >= 0 && family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (descriptor >= 0 && bind(descriptor, place, length) == 0 && listen(descriptor, SOMAXCONN) == 0) {
      sockaddr_storage taken{};
      socklen_t size = sizeof taken;
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&taken), &size);
      // The port stands at the same place in both families.
      return ListeningSocket(descriptor, ntohs(reinterpret_cast<const sockaddr_in*>(&taken)->sin_port));
    }
    error = errno;
    if (descriptor >= 0) close(descriptor);
    return ListeningSocket();
  };

  int error = 0;
  const bool want_v6 = !loopback || address == "::1";
  if (want_v6) {
    ListeningSocket both = listen_on(AF_INET6, reinterpret_cast<const sockaddr*>(&v6), sizeof v6, error);
    if (both.descriptor() >= 0) return both;
  }
  const bool no_v6 = error == EAFNOSUPPORT || error == EADDRNOTAVAIL;  // a kernel without IPv6
  if (address != "::1" && (!want_v6 || no_v6)) {
    ListeningSocket one = listen_on(AF_INET, reinterpret_cast<const sockaddr*>(&v4), sizeof v4, error);
    if (one.descriptor() >= 0) return one;
  }
  if (error == EADDRINUSE) {
    const auto holder = port_holder(port);
    throw MasterError(
        fmt::format("port {} is in use{}: another rank 0 may be there already, or another program; give "
                    "this run another MASTER_PORT, the same on every rank",
                    port, holder ? " by " + *holder : ""));
  }
  if (error == EACCES)
    throw MasterError(
        fmt::format("port {} is reserved (below {} only root may listen): give another MASTER_PORT, the "
                    "same on every rank",
                    port, IPPORT_RESERVED));
  throw MasterError(fmt::format("rank 0 cannot listen on {}:{}: {}", address, port, std::strerror(error)));
}

void reach_master(const std::string& address, std::uint16_t port, milliseconds timeout, bool serves) {
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
      if (serves && failed == ECONNREFUSED)
        throw MasterError(
            fmt::format("rank 0 listens on port {} here, but {} refuses: MASTER_ADDR is another host's; "
                        "start rank 0 on the host that MASTER_ADDR names",
                        port, place));
      if (Clock::now() >= end) throw MasterError(what_came_back(place, failed, waited_s()));
    }
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    std::this_thread::sleep_for(std::clamp(left, milliseconds{1}, pause));
    pause = std::min(2 * pause, longest_pause);
  }
}

}  // namespace ddpprof::launcher
