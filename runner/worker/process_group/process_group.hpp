// Connects the ranks: torchrun's environment variables, a TCP store, and a process group over Gloo, NCCL or MPI.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runner/launcher/exchange/rendezvous.hpp"
#include "runner/launcher/start.hpp"
#include "runner/worker/process_group/traced_backend.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

struct RankEnvironment : launcher::Start {
  std::optional<int> master_listen_socket;  // DDPPROF_MASTER_FD, rank 0: a bound, listening socket to take over
  bool starts_anew = false;  // TORCHELASTIC_MAX_RESTARTS: later attempts of this run may use the same store
};

// Returns the result of launcher::read_start and DDPPROF_MASTER_FD. Throws std::invalid_argument, which names the
// variable.
RankEnvironment read_rank_environment();

enum class BackendKind { gloo, mpi, nccl };
const char* to_string(BackendKind);

struct Group {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;
  c10::intrusive_ptr<TracedBackend> backend;  // the backend of process_group
  c10::intrusive_ptr<c10d::ProcessGroup>
      control;          // for CPU tensors, always Gloo; the same as process_group if that is Gloo
  std::string address;  // this rank's own address on the route to rank 0
  std::string run;      // the name of this run, equal on every rank
};

struct GroupOptions {
  BackendKind backend = BackendKind::gloo;
  std::chrono::milliseconds timeout{120'000};             // of each collective and of connections between ranks
  std::chrono::milliseconds rendezvous_timeout{120'000};  // to reach the store; then again until every rank has come
  int gloo_threads = 2;                                   // collectives in flight at once (PyTorch's default)
  std::string name = "ddpprof";                           // equal on every rank
  launcher::Registration registration;                    // of this rank: version, strategy, scenario
};

// Throws MeetingError (meeting.hpp) if the rendezvous fails, c10::Error if a connection is lost later.
Group join_group(const RankEnvironment&, const GroupOptions&);

// Ends the communicators of `group.backend`. Every rank calls this once, after its last collective of
// `group.process_group`. All ranks meet over `group.control` first, so that no communicator ends while another rank
// uses it. `group.control` must be another group, and remains usable. Throws c10::Error if a connection is lost. Ends
// the process with code 4 if the backend does not return within `limit`.
void end_communicators(Group& group, std::chrono::milliseconds limit);

// Returns the address of this machine on the route to `host`; 127.0.0.1 if that is this machine. Throws
// std::runtime_error.
std::string address_towards(const std::string& host, std::uint16_t port);

// Each backend has its own file. The installed gloo headers differ from the classes inside LibTorch, so
// gloo_backend.cpp only constructs the object.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>&, int rank, int size,
                                                    const std::string& address, const GroupOptions&);
// Throws std::runtime_error in a build without NCCL.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>&, int rank, int size,
                                                    const GroupOptions&);

}  // namespace ddpprof::worker
