#include "runner/worker/process_group/process_group.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace ddpprof::worker {
namespace {

std::optional<std::int64_t> read_number(const char* name, std::int64_t least, std::int64_t most) {
  const char* text = std::getenv(name);
  if (!text || !*text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    throw std::invalid_argument(std::string("environment variable ") + name + "=" + text +
                                ": expected a whole number from " + std::to_string(least) + " to " +
                                std::to_string(most));
  return value;
}

// `group` gives the store and the address and takes the traced backend.
c10::intrusive_ptr<c10d::ProcessGroup> build_group(const RankEnvironment& environment, const GroupOptions& options,
                                                   BackendKind backend, const std::string& name, Group& group) {
  const bool nccl = backend == BackendKind::nccl;
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(name, group.store);
  auto inner = nccl ? make_nccl_backend(prefixed, environment.rank, environment.world_size, options)
                    : make_gloo_backend(prefixed, environment.rank, environment.world_size, group.address, options);
  group.backend = c10::make_intrusive<TracedBackend>(std::move(inner), name, !nccl);
  using PG = c10d::ProcessGroup;
  // CUSTOM, since c10d::Logger casts the backend of a group that calls itself GLOO to ProcessGroupGloo.
  const auto kind = PG::BackendType::CUSTOM;
  auto process_group = c10::make_intrusive<PG>(prefixed, environment.rank, environment.world_size);
  if (!nccl) process_group->setBackend(c10::DeviceType::CPU, kind, group.backend);
  process_group->setBackend(c10::DeviceType::CUDA, kind, group.backend);
  process_group->setDefaultBackend(kind);
  process_group->setGroupName(name);
  return process_group;
}

}  // namespace

RankEnvironment read_rank_environment() {
  RankEnvironment environment;
  const auto world = read_number("WORLD_SIZE", 1, 1 << 20);
  const auto rank = read_number("RANK", 0, (1 << 20) - 1);
  if (world.has_value() != rank.has_value())
    throw std::invalid_argument(std::string("environment variable ") + (world ? "RANK" : "WORLD_SIZE") +
                                " is not set but its partner is: set both, or neither for one rank alone");
  environment.world_size = static_cast<int>(world.value_or(1));
  environment.rank = static_cast<int>(rank.value_or(0));
  if (environment.rank >= environment.world_size)
    throw std::invalid_argument("environment variable RANK=" + std::to_string(environment.rank) +
                                ": expected less than WORLD_SIZE=" + std::to_string(environment.world_size));
  environment.local_rank = static_cast<int>(read_number("LOCAL_RANK", 0, 1 << 20).value_or(environment.rank));
  const char* address = std::getenv("MASTER_ADDR");
  const auto port = read_number("MASTER_PORT", 1, 65535);
  if (environment.world_size > 1 && (!address || !*address || !port))
    throw std::invalid_argument("environment variables MASTER_ADDR and MASTER_PORT: expected both with WORLD_SIZE=" +
                                std::to_string(environment.world_size));
  if (address && *address) environment.master_address = address;
  environment.master_port = static_cast<std::uint16_t>(port.value_or(0));
  if (environment.rank == 0)
    if (const auto socket = read_number("DDPPROF_MASTER_FD", 0, 1 << 20))
      environment.master_listen_socket = static_cast<int>(*socket);
  const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  environment.store_elsewhere = agent && std::string_view(agent) == "True";
  return environment;
}

std::string address_towards(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    throw std::runtime_error("cannot resolve MASTER_ADDR=" + host + ": " + gai_strerror(error) +
                             "; expected rank 0's host name or address");
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* candidate = found; candidate; candidate = candidate->ai_next) {
    const int probe = socket(candidate->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) continue;
    // Connecting a datagram socket sends nothing; it asks the kernel for the route.
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    char text[NI_MAXHOST] = "";
    const bool known =
        connect(probe, candidate->ai_addr, candidate->ai_addrlen) == 0 &&
        getsockname(probe, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0;
    close(probe);
    if (known) return text;
  }
  throw std::runtime_error("no route to MASTER_ADDR=" + host + ": " + std::strerror(errno));
}

Group join_group(const RankEnvironment& environment, const GroupOptions& options) {
  Group group;
  c10d::TCPStoreOptions store;
  store.port = environment.master_port;
  store.isServer = environment.rank == 0 && !environment.store_elsewhere;
  store.numWorkers = static_cast<std::size_t>(environment.world_size);
  store.waitWorkers = !environment.store_elsewhere;
  store.timeout = options.rendezvous_timeout;
  store.masterListenFd = environment.master_listen_socket;
  group.store = c10::make_intrusive<c10d::TCPStore>(environment.master_address, store);
  // An agent's store outlives a failed attempt: without the attempt's number its addresses would be found again.
  if (const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT"); attempt && *attempt)
    group.store = c10::make_intrusive<c10d::PrefixStore>(std::string("attempt-") + attempt, group.store);
  group.address = address_towards(environment.master_address, environment.master_port ? environment.master_port : 1);

  group.process_group = build_group(environment, options, options.backend, options.name, group);
  if (options.backend == BackendKind::gloo) {
    group.control = group.process_group;
  } else {
    Group control = group;
    group.control = build_group(environment, options, BackendKind::gloo, options.name + ".control", control);
  }
  return group;
}

}  // namespace ddpprof::worker
