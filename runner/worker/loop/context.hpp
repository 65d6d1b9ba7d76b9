// The context of every mode of the worker: scenario, rank, device and resources.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/process_group/core_sharing.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// This machine does not have something that the scenario requires (exit code 3).
struct MissingAbility : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Mode { train, bench_comm };

struct Context {
  scenario::Scenario scenario;
  scenario::Strategy strategy = scenario::Strategy::ddp;
  Mode mode = Mode::train;
  int replicas = 1;  // number of DataParallel replicas; 1 under DDP
  std::filesystem::path result;
  std::filesystem::path dump;  // empty: no dump
  std::int64_t dump_steps = 3, dump_gradients = 3;
  bool without_ddp = false;                        // one process without process group and Reducer
  std::optional<double> own_rendezvous_timeout_s;  // unset: from the scenario's measure.timeout_s
  std::filesystem::path run_file;                  // empty: not written
  std::string run;                                 // this run's name, equal on every rank; set after the rendezvous
  bool closing_line = false;
  bool annotate_in_turn =
      false;  // only steps 0, 3, 4, 7, …: compared with the other steps they show the cost of annotation
  RankEnvironment environment;
  torch::Device device = torch::kCPU;
  BackendKind backend = BackendKind::gloo;
  int cores = 1;       // cores that this process may use: affinity and cgroup quota
  int host_cores = 1;  // cores on which any rank of this host may run
  std::string pool;    // name of the set of processors that ranks share; "" for a single process
  int pool_cores = 1;
  int threads = 1;  // intra-op threads of a rank or of each replica

  std::chrono::milliseconds timeout() const;  // of one collective
  std::chrono::milliseconds rendezvous_timeout() const;
  int workers() const { return strategy == scenario::Strategy::dp ? replicas : environment.world_size; }
};

// Chooses device, backend and threads. Throws MissingAbility if the machine does not have them. `scenario`, `strategy`,
// `replicas` and `environment` must be set.
void choose_resources(Context& context);

// Sets this rank's threads to its part of the shared processors, unless the scenario sets the number of threads.
void share_threads(Context& context, const CoreShare& share);

}  // namespace ddpprof::worker
