// Which rank this process is and who started it, read from the variables of torchrun, srun, mpirun or a pod, or none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace ddpprof::launcher {

enum class Starter { nobody, hand, torchrun, srun, mpirun, kubernetes };
const char* to_string(Starter);

// The name of the run, equal on all of its ranks; it outweighs what the starter calls it.
inline constexpr const char* run_id_variable = "DDPPROF_RUN_ID";

// The variables do not say which rank this is. The message names each that is wrong, what it holds and what it should.
class StartError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct Start {
  Starter starter = Starter::nobody;  // nobody: no variable is set, this process is alone
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 0;    // ranks on this host; 0: nobody said
  bool several_hosts = false;  // ranks of other hosts are to come, for sure
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;  // 0: any free one, with world_size 1 only
  std::string master_source;      // where address and port come from when not from MASTER_ADDR and MASTER_PORT, else ""
  std::string run_id;             // the run's own name, equal on all of its ranks; "": nobody gave one
  int attempt = 0;                // TORCHELASTIC_RESTART_COUNT: each agent counts its own, so ranks may differ
  bool store_elsewhere = false;   // TORCHELASTIC_USE_AGENT_STORE: torchrun's agent serves the store, not rank 0
};

// A variable's value; nullopt when it is not set. An empty value counts as not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT where one of the first three is set; otherwise Open MPI's
// OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK}, otherwise Slurm's SLURM_{PROCID,NTASKS,LOCALID}, otherwise PMI_{RANK,SIZE}
// and MPI_LOCALRANKID of MPICH and Intel MPI. These do not say where rank 0 is: MASTER_ADDR and MASTER_PORT do where
// they are set; without them Slurm's first host of the step and a port made from the job's number, mpirun's own host
// when it holds every rank. In a pod of Kubernetes, whose training operator leaves LOCAL_RANK out, the rank is the only
// one of its pod. The run's name is DDPPROF_RUN_ID, or else TORCHELASTIC_RUN_ID, PMIX_NAMESPACE (mpirun) or the number
// of Slurm's job and step. Throws StartError.
Start read_start(const Variables& variables);
Start read_start();  // of this process

// Names torchrun's agent on this host, the same for every process that it starts and for no other agent's: the folder
// of its logs, which TORCHELASTIC_ERROR_FILE lies in. "" without torchrun, or where it keeps none.
std::string torchrun_agent(const Variables& variables);
std::string torchrun_agent();  // of this process

// The first host of Slurm's list: "gpu03" of "gpu[03-05,09],cpu1". "" of an empty list.
std::string first_host(const std::string& node_list);

// "rank 1 of 4, started by torchrun"
std::string describe(const Start& start);

}  // namespace ddpprof::launcher
