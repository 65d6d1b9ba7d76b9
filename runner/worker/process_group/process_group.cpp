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
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "runner/launcher/listening_socket.hpp"
#include "runner/worker/process_group/entrance.hpp"
#include "runner/worker/process_group/guard.hpp"
#include "runner/worker/process_group/meeting.hpp"
#include "runner/worker/process_group/mpi_backend.hpp"

namespace ddpprof::worker {
namespace {

// `group` has the store and the address; the traced backend is stored in it.
c10::intrusive_ptr<c10d::ProcessGroup> build_group(const RankEnvironment& environment, const GroupOptions& options,
                                                   BackendKind backend, const std::string& name, Group& group) {
  const bool nccl = backend == BackendKind::nccl;
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(name, group.store);
  c10::intrusive_ptr<c10d::Backend> inner;
  switch (backend) {
    case BackendKind::gloo:
      inner = make_gloo_backend(prefixed, environment.rank, environment.world_size, group.address, options);
      break;
    case BackendKind::mpi:
      inner = c10::make_intrusive<MpiBackend>(environment.rank, environment.world_size, options.timeout,
                                              options.rendezvous_timeout);
      break;
    case BackendKind::nccl:
      inner = make_nccl_backend(prefixed, environment.rank, environment.world_size, options);
      break;
  }
  group.backend = c10::make_intrusive<TracedBackend>(std::move(inner), name, !nccl);
  using PG = c10d::ProcessGroup;
  // CUSTOM, since c10d::Logger casts the backend of a group of type GLOO to ProcessGroupGloo.
  const auto kind = PG::BackendType::CUSTOM;
  auto process_group = c10::make_intrusive<PG>(prefixed, environment.rank, environment.world_size);
  if (!nccl) process_group->setBackend(c10::DeviceType::CPU, kind, group.backend);
  if (backend != BackendKind::mpi) process_group->setBackend(c10::DeviceType::CUDA, kind, group.backend);
  process_group->setDefaultBackend(kind);
  process_group->setGroupName(name);
  return process_group;
}

}  // namespace

const char* to_string(BackendKind backend) {
  switch (backend) {
    case BackendKind::gloo:
      return "gloo";
    case BackendKind::mpi:
      return "mpi";
    case BackendKind::nccl:
      return "nccl";
  }
  return "";
}

RankEnvironment read_rank_environment() {
  RankEnvironment environment{launcher::read_start(), std::nullopt};
  const char* restarts = std::getenv("TORCHELASTIC_MAX_RESTARTS");
  environment.starts_anew = environment.store_elsewhere && restarts && std::strcmp(restarts, "0") != 0;
  const char* socket = std::getenv(launcher::master_fd_variable);
  if (environment.rank != 0 || !socket || !*socket) return environment;
  int number = 0;
  const char* end = socket + std::strlen(socket);
  const auto [stop, error] = std::from_chars(socket, end, number);
  if (error != std::errc() || stop != end || number < 0)
    throw std::invalid_argument(std::string("environment variable ") + launcher::master_fd_variable + "=" + socket +
                                ": expected the number of an open socket");
  environment.master_listen_socket = number;
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
    // Connecting a datagram socket sends nothing. It makes the kernel choose the route.
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
  return join_group(environment, options, Entrance());
}

Group join_group(const RankEnvironment& environment, const GroupOptions& options, const Entrance& entrance) {
  Group group;
  Meeting meeting = meet(environment, options.registration, entrance, options.rendezvous_timeout);
  group.store = std::move(meeting.store);
  group.run = std::move(meeting.run);
  group.address = std::move(meeting.address);

  const Guard guard(environment.rank, "connecting to the other ranks",
                    "the connections are not there; is rank 0's process stopped, or its host cut off?",
                    options.rendezvous_timeout + options.timeout + beyond_c10d);
  group.process_group = build_group(environment, options, options.backend, options.name, group);
  if (options.backend == BackendKind::gloo) {
    group.control = group.process_group;
  } else {
    Group control = group;
    group.control = build_group(environment, options, BackendKind::gloo, options.name + ".control", control);
  }
  return group;
}

void end_communicators(Group& group, std::chrono::milliseconds limit) {
  group.control->barrier()->wait();
  const Guard guard(
      group.backend->getRank(), "ending the communicators",
      std::string(group.backend->getBackendName()) + " did not return; did another rank end, or does its GPU hang?",
      limit);
  group.backend->shutdown();
}

}  // namespace ddpprof::worker
