#include "runner/launcher/start.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace ddpprof::launcher {
namespace {

constexpr int most_ranks = 1 << 20;
constexpr std::uint16_t usual_port = 29500;  // torchrun's
// Ports computed from a job's number. They lie below the kernel's ephemeral range, which begins at 32768.
constexpr std::uint64_t first_job_port = 20000, job_ports = 10000;
// Coprime to job_ports, so that all ports are used. The first steps of a job do not collide with those of the next job.
constexpr std::uint64_t ports_between_jobs = 61;

// The variables of one launcher for the four numbers.
struct Names {
  Starter starter;
  const char *rank, *size, *local_rank, *local_size;
};
constexpr Names torchrun_names = {Starter::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names open_mpi_names = {Starter::mpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
// MPICH, Intel MPI and their derivatives.
constexpr Names mpich_names = {Starter::mpirun, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names pod_names = {Starter::kubernetes, "RANK", "WORLD_SIZE", "", ""};
constexpr Names slurm_names = {Starter::srun, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""};

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  Start read() {
    Start start = by_first_names();
    if (const auto given = text(run_id_variable)) start.run_id = *given;
    return start;
  }

 private:
  Start by_first_names() const {
    if (any({"RANK", "WORLD_SIZE", "LOCAL_RANK"})) return in_pod() ? by_pod() : by_torchruns_names();
    if (set(open_mpi_names.rank)) return by_mpi(open_mpi_names);
    if (set(slurm_names.rank)) return by_slurm();  // before PMI's variables, which srun may set too
    if (set(mpich_names.rank)) return by_mpi(mpich_names);
    refuse_elastic_pod();
    if (any({"MASTER_ADDR", "MASTER_PORT"})) return by_torchruns_names();  // which reports the missing variables
    return {};
  }

  std::optional<std::string> text(const std::string& name) const {
    if (name.empty()) return std::nullopt;
    std::optional<std::string> value = variables_(name);
    if (value && value->empty()) value.reset();
    return value;
  }
  bool set(const std::string& name) const { return text(name).has_value(); }
  bool any(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (set(name)) return true;
    return false;
  }

  std::optional<int> number(const std::string& name, int least, int most) const {
    const auto value = text(name);
    if (!value) return std::nullopt;
    long long parsed = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), parsed);
    const bool number = error != std::errc::invalid_argument && end == value->data() + value->size();
    if (number && error == std::errc() && parsed >= least && parsed <= most) return static_cast<int>(parsed);
    const char* wrong = !number ? "not a number" : value->front() == '-' ? "negative" : "out of range";
    throw StartError(fmt::format("environment variable {}={} is {}: expected a whole number from {} to {}", name,
                                 *value, wrong, least, most));
  }

  int need(const std::string& name, int least, int most) const {
    if (const auto value = number(name, least, most)) return *value;
    throw StartError(fmt::format("environment variable {} is not set", name));
  }

  // Reads rank, world size, local rank and local world size from one launcher's variables.
  Start place(const Names& names) const {
    Start start;
    start.starter = names.starter;
    const char* size = names.size;
    // srun may start fewer tasks than the job's allocation has.
    if (names.starter == Starter::srun && set("SLURM_STEP_NUM_TASKS")) size = "SLURM_STEP_NUM_TASKS";
    start.world_size = need(size, 1, most_ranks);
    start.rank = need(names.rank, 0, most_ranks - 1);
    if (start.rank >= start.world_size)
      throw StartError(fmt::format("environment variable {}={}: expected less than {}={}, since ranks count from 0",
                                   names.rank, start.rank, size, start.world_size));
    const bool alone_here = start.world_size == 1 || names.starter == Starter::kubernetes;
    start.local_rank =
        alone_here ? number(names.local_rank, 0, most_ranks).value_or(0) : need(names.local_rank, 0, most_ranks);
    start.local_world_size = number(names.local_size, 1, most_ranks).value_or(0);
    if (start.local_world_size > 0 && start.local_rank >= start.local_world_size)
      throw StartError(fmt::format("environment variable {}={}: expected less than {}={}", names.local_rank,
                                   start.local_rank, names.local_size, start.local_world_size));
    start.several_hosts = start.local_world_size > 0 && start.local_world_size < start.world_size;
    return start;
  }

  void read_master(Start& start) const {
    if (const auto address = text("MASTER_ADDR")) start.master_address = *address;
    if (const auto port = number("MASTER_PORT", 1, 65535)) start.master_port = static_cast<std::uint16_t>(*port);
  }

  // Kubernetes' training operator sets PET_* for torchrun, and RANK and WORLD_SIZE without LOCAL_RANK for one process
  // per pod. Without any of Kubernetes' variables, LOCAL_RANK was forgotten: two ranks of one host would use the same
  // GPU.
  bool in_pod() const {
    return !set("LOCAL_RANK") && set("RANK") && set("WORLD_SIZE") &&
           any({"KUBERNETES_SERVICE_HOST", "PET_NODE_RANK", "PET_NNODES", "PET_MASTER_ADDR"});
  }

  Start by_pod() const {
    const auto in_a_pod = text("PET_NPROC_PER_NODE");
    if (in_a_pod && *in_a_pod != "1" && *in_a_pod != "auto")
      throw StartError(
          fmt::format("environment variable PET_NPROC_PER_NODE={} requests several ranks in this pod, but LOCAL_RANK "
                      "is not set, so torchrun did not start this process: expected torchrun to start the ranks, as in "
                      "torchrun --no-python ddpprof worker SCENARIO.yaml --out DIR",
                      *in_a_pod));
    check_five(false);
    Start start = place(pod_names);
    start.local_world_size = 1;
    read_master(start);
    return start;
  }

  // The pods of an elastic job have a rendezvous address but no rank. Without this check each pod would train alone
  // without a message.
  void refuse_elastic_pod() const {
    for (const char* name : {"PET_RDZV_ENDPOINT", "PET_NNODES"})
      if (set(name))
        throw StartError(
            fmt::format("environment variable {} is set, but RANK and WORLD_SIZE are not: expected torchrun to start "
                        "the ranks of this pod, as in torchrun --no-python ddpprof worker SCENARIO.yaml --out DIR",
                        name));
  }

  // A single rank needs only RANK and WORLD_SIZE; several ranks need all five variables.
  void check_five(bool needs_local_rank) const {
    const bool alone = text("WORLD_SIZE") == "1";
    std::vector<std::string> missing, present;
    for (const std::string name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
      const bool wanted = alone ? name == "RANK" : name != "LOCAL_RANK" || needs_local_rank;
      if (set(name)) {
        present.push_back(name);
      } else if (wanted) {
        missing.push_back(name);
      }
    }
    if (missing.empty()) return;
    throw StartError(fmt::format(
        "environment variable{} {} {} not set, but {} {}: expected RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and "
        "MASTER_PORT, all of them, or none for one process without DDP",
        missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are",
        fmt::join(present, ", "), present.size() == 1 ? "is" : "are"));
  }

  Start by_torchruns_names() const {
    check_five(true);
    Start start = place(torchrun_names);
    const auto run_id = text("TORCHELASTIC_RUN_ID");
    start.starter = run_id ? Starter::torchrun : Starter::hand;
    start.run_id = run_id.value_or("");
    start.attempt = number("TORCHELASTIC_RESTART_COUNT", 0, 1 << 20).value_or(0);
    start.store_elsewhere = text("TORCHELASTIC_USE_AGENT_STORE") == "True";
    read_master(start);
    return start;
  }

  Start by_mpi(const Names& names) const {
    Start start = place(names);
    start.run_id = text("PMIX_NAMESPACE").value_or("");
    read_master(start);
    if (start.world_size == 1) return start;
    if (!set("MASTER_ADDR")) {
      if (start.local_world_size != start.world_size)
        throw StartError(
            "environment variable MASTER_ADDR is not set, and mpirun does not say where rank 0 is: expected rank 0's "
            "host, as in mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=29500 (MPICH, Intel MPI: -genv MASTER_ADDR HOST "
            "-genv MASTER_PORT 29500)");
      start.master_source = "this host, which holds every rank";
    }
    if (!set("MASTER_PORT")) start.master_port = usual_port;
    return start;
  }

  Start by_slurm() const {
    if (!set("SLURM_NTASKS") && !set("SLURM_STEP_NUM_TASKS"))
      throw StartError(
          "environment variable SLURM_NTASKS is not set, but SLURM_PROCID is: expected both, as srun sets them; start "
          "the ranks with srun, or unset SLURM_PROCID for one process without DDP");
    Start start = place(slurm_names);
    // srun sets the step's variables. Without them this is the batch script itself, and no other task was started.
    if (start.world_size > 1 && !any({"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS"}))
      throw StartError(fmt::format(
          "environment variable SLURM_NTASKS={}, but neither SLURM_STEP_ID nor SLURM_STEP_NUM_TASKS is set: "
          "this is the batch script's own process, and no other rank was started; expected srun before "
          "ddpprof worker in the batch script",
          start.world_size));
    if (const auto job = text("SLURM_JOB_ID"))
      start.run_id = fmt::format("{}.{}", *job, text("SLURM_STEP_ID").value_or("0"));
    read_master(start);
    if (start.world_size == 1) return start;
    const auto hosts = number("SLURM_STEP_NUM_NODES", 1, most_ranks);
    start.several_hosts = (hosts ? hosts : number("SLURM_NNODES", 1, most_ranks)).value_or(1) > 1;
    if (!set("MASTER_ADDR")) slurm_address(start);
    if (!set("MASTER_PORT")) {
      const auto job = static_cast<std::uint64_t>(number("SLURM_JOB_ID", 0, 2147483647).value_or(0));
      const auto step = static_cast<std::uint64_t>(number("SLURM_STEP_ID", 0, 2147483647).value_or(0));
      const bool known = set("SLURM_JOB_ID");
      start.master_port =
          known ? static_cast<std::uint16_t>(first_job_port + (job * ports_between_jobs + step) % job_ports)
                : usual_port;
    }
    return start;
  }

  // Slurm places rank 0 on the step's first host. The host that called srun may be a login node, so it is the last
  // choice.
  void slurm_address(Start& start) const {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
      if (const std::string host = first_host(text(name).value_or("")); !host.empty()) {
        start.master_address = host;
        start.master_source = fmt::format("first host of {}", name);
        return;
      }
    }
    const auto launcher = text("SLURM_LAUNCH_NODE_IPADDR");
    if (!launcher)
      throw StartError(
          "environment variable MASTER_ADDR is not set, and neither SLURM_STEP_NODELIST, SLURM_JOB_NODELIST, "
          "SLURM_NODELIST nor SLURM_LAUNCH_NODE_IPADDR says where rank 0 is: expected MASTER_ADDR=HOST");
    start.master_address = *launcher;
    start.master_source = "SLURM_LAUNCH_NODE_IPADDR";
  }

  const Variables& variables_;
};

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

const char* to_string(Starter starter) {
  switch (starter) {
    case Starter::none:
      return "nobody";  // the value in result files
    case Starter::hand:
      return "hand";
    case Starter::torchrun:
      return "torchrun";
    case Starter::srun:
      return "srun";
    case Starter::mpirun:
      return "mpirun";
    case Starter::kubernetes:
      return "kubernetes";
  }
  return "unknown";
}

Start read_start(const Variables& variables) { return Reader(variables).read(); }

Start read_start() { return read_start(variable); }

std::string torchrun_agent(const Variables& variables) {
  const std::string error_file = variables("TORCHELASTIC_ERROR_FILE").value_or("");
  const std::size_t attempt =
      error_file.rfind("/attempt_");  // a new folder at every restart, inside of the agent's folder
  return attempt == std::string::npos ? "" : error_file.substr(0, attempt);
}

std::string torchrun_agent() { return torchrun_agent(variable); }

std::string first_host(const std::string& node_list) {
  std::string host;
  for (std::size_t at = 0; at < node_list.size() && node_list[at] != ','; ++at) {
    if (node_list[at] != '[') {
      host += node_list[at];
      continue;
    }
    const std::size_t first_end = node_list.find_first_of(",-]", at + 1);
    const std::size_t close = node_list.find(']', at);
    if (first_end == std::string::npos || close == std::string::npos) return "";
    host += node_list.substr(at + 1, first_end - at - 1);
    at = close;
  }
  return host;
}

std::string describe(const Start& start) {
  if (start.starter == Starter::none) return "one process";
  return fmt::format("rank {} of {}, started by {}", start.rank, start.world_size, to_string(start.starter));
}

}  // namespace ddpprof::launcher
