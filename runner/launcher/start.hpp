// Reads this process's rank and launcher from the environment variables of torchrun, srun, mpirun or Kubernetes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace ddpprof::launcher {

enum class Starter { none, hand, torchrun, srun, mpirun, kubernetes };
const char* to_string(Starter);

// The name of the run, equal on all of its ranks. It overrides the launcher's name of the run.
inline constexpr const char* run_id_variable = "DDPPROF_RUN_ID";

// The variables do not determine this process's rank. The message names each wrong variable, its value and the expected
// value.
class StartError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct Start {
  Starter starter = Starter::none;  // none: no variable is set, this is a single process
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 0;    // ranks on this host; 0: unknown
  bool several_hosts = false;  // true if it is certain that ranks on other hosts are expected
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;  // 0: any free port, only with world_size 1
  std::string master_source;      // the source of address and port if it is not MASTER_ADDR and MASTER_PORT, else ""
  std::string run_id;             // the run's name, equal on all of its ranks; "": none was given
  int attempt = 0;                // TORCHELASTIC_RESTART_COUNT; each agent counts its own restarts, so ranks may differ
  bool store_elsewhere = false;   // TORCHELASTIC_USE_AGENT_STORE: torchrun's agent serves the store, not rank 0
};

// Returns a variable's value, or nullopt if it is not set. An empty value counts as not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// Reads the rank from the first of these sources that is set:
// 1. RANK, WORLD_SIZE, LOCAL_RANK with MASTER_ADDR and MASTER_PORT (torchrun, by hand). In a Kubernetes pod LOCAL_RANK
// may
//    be missing, because the training operator does not set it: the rank is then the only one of its pod.
// 2. Open MPI's OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK}.
// 3. Slurm's SLURM_{PROCID,NTASKS,LOCALID}.
// 4. PMI_{RANK,SIZE} and MPI_LOCALRANKID of MPICH and Intel MPI.
// Sources 2 to 4 do not name rank 0's host. MASTER_ADDR and MASTER_PORT count if they are set. Otherwise it is the
// first host of Slurm's step with a port computed from the job's number, or mpirun's own host if it has all ranks. The
// run's name is DDPPROF_RUN_ID, else TORCHELASTIC_RUN_ID, PMIX_NAMESPACE (mpirun), or Slurm's job and step. Throws
// StartError.
Start read_start(const Variables& variables);
Start read_start();  // of this process

// Returns an identifier of torchrun's agent on this host: the folder of its logs, taken from TORCHELASTIC_ERROR_FILE.
// It is equal for all processes that this agent starts. Returns "" without torchrun, or if the agent has no such
// folder.
std::string torchrun_agent(const Variables& variables);
std::string torchrun_agent();  // of this process

// Returns the first host of Slurm's host list: "gpu03" for "gpu[03-05,09],cpu1", "" for an empty list.
std::string first_host(const std::string& node_list);

// "rank 1 of 4, started by torchrun"
std::string describe(const Start& start);

}  // namespace ddpprof::launcher
