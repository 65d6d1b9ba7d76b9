// What every mode of the worker needs: the scenario, this rank's place, its device and its resources.
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

// This machine lacks something that the scenario asks for (exit code 3).
struct MissingAbility : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Mode { train, bench_comm };

struct Context {
  scenario::Scenario scenario;
  scenario::Strategy strategy = scenario::Strategy::ddp;
  Mode mode = Mode::train;
  int replicas = 1;  // DataParallel's; 1 under DDP
  std::filesystem::path result;
  std::filesystem::path dump;  // empty: none
  std::int64_t dump_steps = 3, dump_gradients = 3;
  bool without_ddp = false;                        // one process, neither process group nor Reducer
  std::optional<double> own_rendezvous_timeout_s;  // unset: from the scenario's measure.timeout_s
  std::filesystem::path run_file;                  // empty: none
  std::string run;                                 // this run's name, equal on every rank; set once they have come
  bool closing_line = false;
  bool annotate_in_turn = false;  // steps 0, 3, 4, 7, … only: paired with the others they show what annotation costs
  RankEnvironment environment;
  torch::Device device = torch::kCPU;
  BackendKind backend = BackendKind::gloo;
  int cores = 1;       // this process may use: affinity and cgroup quota
  int host_cores = 1;  // that any rank of this host may run on
  std::string pool;    // of processors that ranks compete for; "" for one process alone
  int pool_cores = 1;
  int threads = 1;  // intra-op, of a rank or of each replica

  std::chrono::milliseconds timeout() const;  // of a collective
  std::chrono::milliseconds rendezvous_timeout() const;
  int workers() const { return strategy == scenario::Strategy::dp ? replicas : environment.world_size; }
};

// Chooses device, backend and threads; throws MissingAbility. `scenario`, `strategy`, `replicas` and `environment` must
// be set.
void choose_resources(Context& context);

// Gives this rank its part of the processors that it shares, unless the scenario says how many threads.
void share_threads(Context& context, const CoreShare& share);

}  // namespace ddpprof::worker
