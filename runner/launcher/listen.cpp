// open_master, port_holder and program_of of master.hpp: rank 0's side.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
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
#include <vector>

#include "runner/launcher/master.hpp"

namespace ddpprof::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_lookups{100};  // of a name that does not resolve

struct Address {
  sockaddr_storage socket{};
  socklen_t length = 0;
  bool v6 = false, loopback = false, everywhere = false;
  std::string text;

  bool operator==(const Address& other) const { return text == other.text; }
};

Address address_of(const sockaddr* given, socklen_t length) {
  Address address;
  std::memcpy(&address.socket, given, length);
  address.length = length;
  if (given->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, given, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {  // ::ffff:127.0.0.1 is 127.0.0.1
      sockaddr_in v4{};
      v4.sin_family = AF_INET;
      v4.sin_port = v6.sin6_port;
      std::memcpy(&v4.sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
      return address_of(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
    }
    address.v6 = true;
    address.loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    address.everywhere = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
  } else {
    sockaddr_in v4{};
    std::memcpy(&v4, given, sizeof v4);
    address.loopback = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    address.everywhere = v4.sin_addr.s_addr == htonl(INADDR_ANY);
  }
  char text[NI_MAXHOST] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address.socket), length, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  address.text = text;
  return address;
}

// Returns each address of the name once: loopback last, IPv4 before IPv6. Returns an empty list and sets `error` if the
// name does not resolve.
std::vector<Address> addresses_of(const std::string& name, std::uint16_t port, int& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  error = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    Address address = address_of(each->ai_addr, each->ai_addrlen);
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(std::move(address));
  }
  std::ranges::stable_sort(addresses, {}, [](const Address& one) { return std::pair(one.loopback, one.v6); });
  return addresses;
}

std::vector<Address> resolve_patiently(const char* what, const std::string& name, const MasterPlace& place) {
  const auto begin = Clock::now();
  while (true) {
    int error = 0;
    std::vector<Address> found = addresses_of(name, place.port, error);
    if (!found.empty()) return found;
    const auto waited = Clock::now() - begin;
    if (waited >= std::min(place.patience, name_patience))
      throw MasterError(fmt::format(
          "{}={} does not resolve ({}), tried for {:.3g} s: expected rank 0's host name or address", what, name,
          error == 0 ? "no IP address" : gai_strerror(error), std::chrono::duration<double>(waited).count()));
    std::this_thread::sleep_for(between_lookups);
  }
}

// Returns a socket that listens on one address, or an empty one with `error` set.
ListeningSocket listen_on(const Address& address, int& error) {
  const int descriptor = socket(address.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1, only_v6 = address.everywhere ? 0 : 1;
  // Without SO_REUSEADDR a port stays in use for a minute after a run. It does not let two processes listen at once.
  if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (descriptor >= 0 && address.v6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
  if (descriptor >= 0 && bind(descriptor, reinterpret_cast<const sockaddr*>(&address.socket), address.length) == 0 &&
      listen(descriptor, SOMAXCONN) == 0) {
    sockaddr_storage taken{};
    socklen_t size = sizeof taken;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&taken), &size);
    // The port has the same offset in both address families.
    return ListeningSocket(descriptor, ntohs(reinterpret_cast<const sockaddr_in*>(&taken)->sin_port));
  }
  error = errno;
  if (descriptor >= 0) close(descriptor);
  return ListeningSocket();
}

std::string texts_of(const std::vector<Address>& addresses) {
  std::vector<std::string> texts;
  for (const Address& address : addresses) texts.push_back(address.text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

[[noreturn]] void refuse(const MasterPlace& place, const std::vector<Address>& candidates, int error) {
  if (error == EADDRINUSE) {
    const auto holder = port_holder(place.port);
    throw MasterError(
        fmt::format("port {} is in use{}: another rank 0 may be there already, or another program; give "
                    "this run another MASTER_PORT, the same on every rank",
                    place.port, holder ? " by " + *holder : ""));
  }
  if (error == EACCES)
    throw MasterError(
        fmt::format("port {} is reserved (below {} only root may listen): give another MASTER_PORT, the "
                    "same on every rank",
                    place.port, IPPORT_RESERVED));
  if (error != EADDRNOTAVAIL && error != EAFNOSUPPORT)
    throw MasterError(
        fmt::format("rank 0 cannot listen on {}:{}: {}", texts_of(candidates), place.port, std::strerror(error)));
  if (!place.listen.empty())
    throw MasterError(
        fmt::format("--listen {} is not an address of this host: expected one that 'ip address' shows here, "
                    "or 0.0.0.0 or :: for all of them",
                    place.listen));
  const std::string known = texts_of(candidates);
  throw MasterError(
      fmt::format("MASTER_ADDR={}{} is an address of another host: rank 0 can only listen on an address of its own "
                  "host. Start rank "
                  "0 on the host that MASTER_ADDR names, or, where that address leads here by another way (address "
                  "translation, a service's name), give --listen ADDRESS with an address of this host",
                  place.address, known == place.address ? "" : " (" + known + ")"));
}

void check_loopback(const MasterPlace& place, Master& master) {
  const std::string why =
      fmt::format("{} is {} on this host, which other hosts cannot reach", place.address, master.address);
  const std::string remedy =
      "set MASTER_ADDR to the address by which the other hosts reach this one (/etc/hosts often maps a "
      "host's own name to loopback)";
  if (place.several_hosts)
    throw MasterError(fmt::format("MASTER_ADDR={}, and ranks on other hosts are expected: {}", why, remedy));
  if (place.address != "localhost" && place.address != master.address)
    master.note =
        fmt::format("rank 0 listens for ranks on this host only: MASTER_ADDR={}. For several hosts {}", why, remedy);
}

// Returns the inodes of the sockets that listen on the port. Fields of /proc/net/tcp: "sl local:port remote:port state
// … inode".
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
  // /proc/PID/exe is set even during exec, when the command line is empty. It is hidden for another user's process.
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
    std::error_code hidden;  // set for another user's process
    for (const auto& descriptor : fs::directory_iterator(process.path() / "fd", hidden)) {
      const fs::path target = fs::read_symlink(descriptor.path(), hidden);
      if (!hidden && inodes.contains(target.string()))
        return fmt::format("process {} ({})", pid, program_of(std::stoll(pid)));
    }
  }
  return std::nullopt;
}

Master open_master(const MasterPlace& place) {
  const bool asked = !place.listen.empty();
  std::vector<Address> candidates = asked ? resolve_patiently("--listen", place.listen, place)
                                          : resolve_patiently("MASTER_ADDR", place.address, place);
  int error = EADDRNOTAVAIL;
  for (const Address& candidate : candidates) {
    if (candidate.everywhere && !asked)
      throw MasterError(fmt::format(
          "MASTER_ADDR={} means all addresses of a host and names no host: expected rank 0's host name or address, "
          "and in addition --listen {} on rank 0 if it should listen on all of them",
          place.address, candidate.text));
    ListeningSocket own = listen_on(candidate, error);
    if (own.descriptor() < 0) {
      // Try the next address only if this one belongs to another host, or if the kernel has no IPv6. If the port is in
      // use on one address, do not listen on another.
      if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) continue;
      break;
    }
    Master master{std::move(own), candidate.text, candidate.text, ""};
    if (candidate.everywhere) master.reach = candidate.v6 ? "::1" : "127.0.0.1";
    if (candidate.loopback && !asked) check_loopback(place, master);
    return master;
  }
  refuse(place, candidates, error);
}

}  // namespace ddpprof::launcher
