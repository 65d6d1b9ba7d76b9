// Brings the ranks together: torchrun's environment variables, a TCP store, and a process group over Gloo, NCCL or MPI.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runner/launcher/rendezvous.hpp"
#include "runner/launcher/start.hpp"
#include "runner/worker/process_group/traced_backend.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

struct RankEnvironment : launcher::Start {
  std::optional<int> master_listen_socket;  // DDPPROF_MASTER_FD, rank 0: a bound, listening socket to take over
  bool starts_anew = false;  // TORCHELASTIC_MAX_RESTARTS: more attempts of this run may meet at the same store
};

// This process's place, as launcher::read_start finds it, and DDPPROF_MASTER_FD. Throws std::invalid_argument that
// names the variable.
RankEnvironment read_rank_environment();

enum class BackendKind { gloo, mpi, nccl };
const char* to_string(BackendKind);

struct Group {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;
  c10::intrusive_ptr<TracedBackend> backend;       // of process_group
  c10::intrusive_ptr<c10d::ProcessGroup> control;  // CPU tensors, always Gloo; process_group itself when that is
  std::string address;                             // this rank's own address on the route to rank 0
  std::string run;                                 // names this run, equal on every rank
};

struct GroupOptions {
  BackendKind backend = BackendKind::gloo;
  std::chrono::milliseconds timeout{120'000};             // of each collective, and of the ranks' connections
  std::chrono::milliseconds rendezvous_timeout{120'000};  // to reach the store, and again until every rank has come
  int gloo_threads = 2;                                   // collectives in flight at once (PyTorch's default)
  std::string name = "ddpprof";                           // equal on every rank
  launcher::Registration registration;                    // what this rank runs: version, strategy, scenario
};

// Throws MeetingError (meeting.hpp) when the ranks do not come together, c10::Error when they lose each other after.
Group join_group(const RankEnvironment&, const GroupOptions&);

// The address this machine uses towards `host`; 127.0.0.1 towards itself. Throws std::runtime_error.
std::string address_towards(const std::string& host, std::uint16_t port);

// Each in a file of its own: gloo's headers here differ from the classes inside LibTorch, so that file only constructs.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>&, int rank, int size,
                                                    const std::string& address, const GroupOptions&);
// Throws std::runtime_error in a build without NCCL.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>&, int rank, int size,
                                                    const GroupOptions&);

}  // namespace ddpprof::worker
