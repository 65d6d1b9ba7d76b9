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
// Ports made from a job's number: below the kernel's own range, which begins at 32768.
constexpr std::uint64_t first_job_port = 20000, job_ports = 10000;

// What one starter calls the four numbers.
struct Names {
  Starter starter;
  const char *rank, *size, *local_rank, *local_size;
};
constexpr Names torchrun_names = {Starter::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names open_mpi_names = {Starter::mpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
// MPICH, Intel MPI and what is built on them.
constexpr Names mpich_names = {Starter::mpirun, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names slurm_names = {Starter::srun, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""};

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  Start read() {
    if (any({"RANK", "WORLD_SIZE", "LOCAL_RANK"})) return by_torchruns_names();
    if (set(open_mpi_names.rank)) return by_mpi(open_mpi_names);
    if (set(slurm_names.rank)) return by_slurm();  // before PMI's, which srun may set, too
    if (set(mpich_names.rank)) return by_mpi(mpich_names);
    if (any({"MASTER_ADDR", "MASTER_PORT"})) return by_torchruns_names();  // which says what is missing
    return {};
  }

 private:
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

  // rank, sizes and local rank under one starter's names.
  Start place(const Names& names) const {
    Start start;
    start.starter = names.starter;
    const char* size = names.size;
    // Within an allocation srun may start fewer tasks than the job has.
    if (names.starter == Starter::srun && set("SLURM_STEP_NUM_TASKS")) size = "SLURM_STEP_NUM_TASKS";
    start.world_size = need(size, 1, most_ranks);
    start.rank = need(names.rank, 0, most_ranks - 1);
    if (start.rank >= start.world_size)
      throw StartError(fmt::format("environment variable {}={}: expected less than {}={}, since ranks count from 0",
                                   names.rank, start.rank, size, start.world_size));
    start.local_rank = start.world_size == 1 ? number(names.local_rank, 0, most_ranks).value_or(0)
                                             : need(names.local_rank, 0, most_ranks);
    start.local_world_size = number(names.local_size, 1, most_ranks).value_or(0);
    if (start.local_world_size > 0 && start.local_rank >= start.local_world_size)
      throw StartError(fmt::format("environment variable {}={}: expected less than {}={}", names.local_rank,
                                   start.local_rank, names.local_size, start.local_world_size));
    return start;
  }

  void read_master(Start& start) const {
    if (const auto address = text("MASTER_ADDR")) start.master_address = *address;
    if (const auto port = number("MASTER_PORT", 1, 65535)) start.master_port = static_cast<std::uint16_t>(*port);
  }

  // One rank alone needs no place to meet; several need all five.
  void check_five() const {
    const bool alone = text("WORLD_SIZE") == "1";
    std::vector<std::string> missing, present;
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
      const bool wanted = !alone || std::string(name) == "RANK";
      if (set(name)) {
        present.emplace_back(name);
      } else if (wanted) {
        missing.emplace_back(name);
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
    check_five();
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
    read_master(start);
    if (start.world_size == 1) return start;
    if (!set("MASTER_ADDR")) slurm_address(start);
    if (!set("MASTER_PORT")) {
      const auto job = static_cast<std::uint64_t>(number("SLURM_JOB_ID", 0, 2147483647).value_or(0));
      const auto step = static_cast<std::uint64_t>(number("SLURM_STEP_ID", 0, 2147483647).value_or(0));
      const bool known = set("SLURM_JOB_ID");
      start.master_port = known ? static_cast<std::uint16_t>(first_job_port + (job + step) % job_ports) : usual_port;
    }
    return start;
  }

  // Slurm lays rank 0 on the step's first host. The host that called srun may be a login node: it comes last.
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

}  // namespace

const char* to_string(Starter starter) {
  switch (starter) {
    case Starter::nobody:
      return "nobody";
    case Starter::hand:
      return "hand";
    case Starter::torchrun:
      return "torchrun";
    case Starter::srun:
      return "srun";
    case Starter::mpirun:
      return "mpirun";
  }
  return "unknown";
}

Start read_start(const Variables& variables) { return Reader(variables).read(); }

Start read_start() {
  return read_start([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

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
  if (start.starter == Starter::nobody) return "one process";
  return fmt::format("rank {} of {}, started by {}", start.rank, start.world_size, to_string(start.starter));
}

}  // namespace ddpprof::launcher
