// Brings the ranks together: torchrun's environment variables, a TCP store, and a Gloo or NCCL process group.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runner/worker/process_group/traced_backend.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;            // 0: any free port, only possible with one rank
  std::optional<int> master_listen_socket;  // DDPPROF_MASTER_FD, rank 0: a bound, listening socket to take over
  bool store_elsewhere = false;             // TORCHELASTIC_USE_AGENT_STORE: torchrun's agent serves the store
};

// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, DDPPROF_MASTER_FD; all unset means one rank alone.
// Throws std::invalid_argument that names the variable.
RankEnvironment read_rank_environment();

enum class BackendKind { gloo, nccl };

struct Group {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;
  c10::intrusive_ptr<TracedBackend> backend;       // of process_group
  c10::intrusive_ptr<c10d::ProcessGroup> control;  // CPU tensors, always Gloo; process_group itself when that is
  std::string address;                             // this rank's own address on the route to rank 0
};

struct GroupOptions {
  BackendKind backend = BackendKind::gloo;
  std::chrono::milliseconds timeout{120'000};             // of each collective, and of the ranks' connections
  std::chrono::milliseconds rendezvous_timeout{120'000};  // until every rank has come to the store
  int gloo_threads = 2;                                   // collectives in flight at once (PyTorch's default)
  std::string name = "ddpprof";                           // equal on every rank
};

// Throws c10::Error when a rank does not come within the timeout.
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
