// Rank and launcher of this process, from the variables of torchrun, srun and mpirun.
#include "runner/launcher/start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace ddpprof::launcher {
namespace {

using testing::HasSubstr;
using Set = std::map<std::string, std::string>;

Start start_of(const Set& variables) {
  return read_start([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string error_of(const Set& variables) {
  try {
    start_of(variables);
  } catch (const StartError& error) {
    return error.what();
  }
  return "no error";
}

const Set five = {
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "gpu03"}, {"MASTER_PORT", "29400"}};

Set with(Set variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Set without(Set variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(Start, NothingSetIsOneProcessAlone) {
  const Start start = start_of({{"PATH", "/bin"}});
  EXPECT_EQ(start.starter, Starter::none);
  EXPECT_EQ(start.world_size, 1);
  EXPECT_EQ(describe(start), "one process");
  EXPECT_EQ(start_of({{"RANK", ""}, {"WORLD_SIZE", ""}}).starter, Starter::none);
}

TEST(Start, TheFiveVariablesByHand) {
  const Start start = start_of(five);
  EXPECT_EQ(start.starter, Starter::hand);
  EXPECT_EQ(start.rank, 1);
  EXPECT_EQ(start.world_size, 4);
  EXPECT_EQ(start.local_rank, 1);
  EXPECT_EQ(start.master_address, "gpu03");
  EXPECT_EQ(start.master_port, 29400);
  EXPECT_FALSE(start.store_elsewhere);
  EXPECT_EQ(describe(start), "rank 1 of 4, started by hand");
}

TEST(Start, TorchrunIsKnownByItsRun) {
  Set torchrun = with(five, "TORCHELASTIC_RUN_ID", "none");
  torchrun["TORCHELASTIC_RESTART_COUNT"] = "2";
  torchrun["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  torchrun["LOCAL_WORLD_SIZE"] = "2";
  const Start start = start_of(torchrun);
  EXPECT_EQ(start.starter, Starter::torchrun);
  EXPECT_EQ(start.run_id, "none");
  EXPECT_EQ(start.attempt, 2);
  EXPECT_EQ(start.local_world_size, 2);
  EXPECT_TRUE(start.several_hosts);  // two of four ranks are on this host
  EXPECT_TRUE(start.store_elsewhere);
  EXPECT_FALSE(start_of(with(torchrun, "LOCAL_WORLD_SIZE", "4")).several_hosts);
}

TEST(Start, TorchrunsAgentIsKnownByItsLogs) {
  const auto agent_of = [](const std::string& error_file) {
    return torchrun_agent([&](const std::string& name) -> std::optional<std::string> {
      return name == "TORCHELASTIC_ERROR_FILE" ? std::optional(error_file) : std::nullopt;
    });
  };
  EXPECT_EQ(agent_of("/tmp/torchelastic_ab/job7_cd/attempt_0/1/error.json"), "/tmp/torchelastic_ab/job7_cd");
  EXPECT_EQ(agent_of("/tmp/torchelastic_ab/job7_cd/attempt_1/0/error.json"), "/tmp/torchelastic_ab/job7_cd");
  EXPECT_EQ(agent_of("/dev/null"), "");
  EXPECT_EQ(agent_of(""), "");
}

TEST(Start, TheNameThatIsGivenOutweighsTheStarters) {
  EXPECT_EQ(start_of(five).run_id, "");
  EXPECT_EQ(start_of(with(five, "DDPPROF_RUN_ID", "night-3")).run_id, "night-3");
  Set torchrun = with(five, "TORCHELASTIC_RUN_ID", "none");
  torchrun["DDPPROF_RUN_ID"] = "night-3";
  EXPECT_EQ(start_of(torchrun).run_id, "night-3");
  EXPECT_EQ(start_of(torchrun).starter, Starter::torchrun);
}

TEST(Start, OneRankAloneNeedsNoPlaceToMeet) {
  const Start start = start_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_EQ(start.starter, Starter::hand);
  EXPECT_EQ(start.world_size, 1);
}

TEST(Start, EachMissingVariableIsNamedWithThoseThatAreThere) {
  for (const auto& [name, value] : five) {
    EXPECT_THAT(error_of(without(five, name)), HasSubstr("environment variable " + name + " is not set, but ")) << name;
    EXPECT_THAT(error_of(with(five, name, "")), HasSubstr(name + " is not set")) << name;
    EXPECT_THAT(error_of({{name, value}}), HasSubstr("are not set, but " + name + " is")) << name;
  }
  EXPECT_EQ(
      error_of({{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "a"}}),
      "environment variables WORLD_SIZE, MASTER_PORT are not set, but RANK, LOCAL_RANK, MASTER_ADDR are: expected "
      "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, all of them, or none for one process without "
      "DDP");
}

TEST(Start, NumbersThatAreNone) {
  EXPECT_EQ(error_of(with(five, "RANK", "one")),
            "environment variable RANK=one is not a number: expected a whole number from 0 to 1048575");
  for (const char* text : {"1.5", " 1", "1 ", "0x1", "1e3", "+1", "-"})
    EXPECT_THAT(error_of(with(five, "RANK", text)), HasSubstr("is not a number")) << text;
  EXPECT_THAT(error_of(with(five, "RANK", "-1")), HasSubstr("RANK=-1 is negative"));
  EXPECT_THAT(error_of(with(five, "RANK", "-99999999999999999999")), HasSubstr("is negative"));
  EXPECT_THAT(error_of(with(five, "RANK", "99999999999999999999")), HasSubstr("is out of range"));
  EXPECT_THAT(error_of(with(five, "WORLD_SIZE", "0")),
              HasSubstr("WORLD_SIZE=0 is out of range: expected a whole number from 1"));
  EXPECT_THAT(error_of(with(five, "MASTER_PORT", "65536")), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(error_of(with(five, "LOCAL_RANK", "x")), HasSubstr("LOCAL_RANK=x is not a number"));
}

TEST(Start, ARankBeyondTheWorld) {
  EXPECT_EQ(error_of(with(five, "RANK", "4")),
            "environment variable RANK=4: expected less than WORLD_SIZE=4, since ranks count from 0");
  EXPECT_THAT(error_of(with(five, "LOCAL_WORLD_SIZE", "1")),
              HasSubstr("LOCAL_RANK=1: expected less than LOCAL_WORLD_SIZE=1"));
}

// The variables of srun of Slurm 22.05 for task 3 of 4 on two hosts.
const Set slurm = {{"SLURM_PROCID", "3"},
                   {"SLURM_NTASKS", "4"},
                   {"SLURM_LOCALID", "1"},
                   {"SLURM_STEP_NODELIST", "gpu[03-04]"},
                   {"SLURM_JOB_NODELIST", "gpu[01-04]"},
                   {"SLURM_NODELIST", "gpu[01-04]"},
                   {"SLURM_JOB_ID", "4711"},
                   {"SLURM_STEP_ID", "2"},
                   {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};

TEST(Slurm, IsMappedToTorchrunsNames) {
  const Start start = start_of(slurm);
  EXPECT_EQ(start.starter, Starter::srun);
  EXPECT_EQ(start.rank, 3);
  EXPECT_EQ(start.world_size, 4);
  EXPECT_EQ(start.local_rank, 1);
  EXPECT_EQ(start.master_address, "gpu03");
  EXPECT_EQ(start.master_source, "first host of SLURM_STEP_NODELIST");
  EXPECT_EQ(start.master_port, 20000 + (4711 * 61 + 2) % 10000);
  EXPECT_EQ(start.run_id, "4711.2");
  EXPECT_EQ(describe(start), "rank 3 of 4, started by srun");
}

TEST(Slurm, EveryRankFindsTheSamePlace) {
  for (const char* rank : {"0", "1", "2", "3"}) {
    const Start start = start_of(with(slurm, "SLURM_PROCID", rank));
    EXPECT_EQ(start.master_address, "gpu03");
    EXPECT_EQ(start.master_port, 27373);
  }
}

// Simultaneous jobs have similar numbers, and each may have several steps.
TEST(Slurm, StepsOfNeighbouringJobsHavePortsOfTheirOwn) {
  std::set<int> ports;
  for (int job = 100; job < 200; ++job)
    for (int step = 0; step < 20; ++step)
      ports.insert(
          start_of(with(with(slurm, "SLURM_JOB_ID", std::to_string(job)), "SLURM_STEP_ID", std::to_string(step)))
              .master_port);
  EXPECT_EQ(ports.size(), 100U * 20U);
  EXPECT_GE(*ports.begin(), 20000);
  EXPECT_LT(*ports.rbegin(), 30000);
}

TEST(Slurm, MasterAddrAndPortWin) {
  const Start start = start_of(with(with(slurm, "MASTER_ADDR", "10.1.1.1"), "MASTER_PORT", "4000"));
  EXPECT_EQ(start.starter, Starter::srun);
  EXPECT_EQ(start.master_address, "10.1.1.1");
  EXPECT_EQ(start.master_port, 4000);
  EXPECT_EQ(start.master_source, "");
}

TEST(Slurm, TheLaunchingHostIsTheLastResort) {
  Set bare = {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_LOCALID", "0"}};
  EXPECT_THAT(error_of(bare), HasSubstr("MASTER_ADDR is not set, and neither SLURM_STEP_NODELIST"));
  bare["SLURM_LAUNCH_NODE_IPADDR"] = "10.0.0.1";
  EXPECT_EQ(start_of(bare).master_address, "10.0.0.1");
  EXPECT_EQ(start_of(bare).master_port, 29500);
  EXPECT_EQ(start_of(with(bare, "SLURM_NODELIST", "solo")).master_address, "solo");
}

TEST(Slurm, AStepSmallerThanItsJob) {
  EXPECT_EQ(start_of(with(with(slurm, "SLURM_NTASKS", "8"), "SLURM_STEP_NUM_TASKS", "4")).world_size, 4);
}

TEST(Slurm, SaysWhetherThereAreOtherHosts) {
  EXPECT_FALSE(start_of(slurm).several_hosts);
  EXPECT_TRUE(start_of(with(slurm, "SLURM_NNODES", "2")).several_hosts);
  // A step on one of its job's two hosts.
  EXPECT_FALSE(start_of(with(with(slurm, "SLURM_NNODES", "2"), "SLURM_STEP_NUM_NODES", "1")).several_hosts);
  EXPECT_TRUE(start_of(with(slurm, "SLURM_STEP_NUM_NODES", "2")).several_hosts);
}

TEST(Slurm, ABatchScriptWithoutSrun) {
  EXPECT_THAT(error_of({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}), HasSubstr("start the ranks with srun"));
  // The variables of the batch step of Slurm 22.05 for a job of two tasks: it is task 0, and task 1 does not exist.
  Set batch = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"},   {"SLURM_LOCALID", "0"},
               {"SLURM_JOB_ID", "4"}, {"SLURM_NODELIST", "a"}, {"SLURM_JOB_NODELIST", "a"}};
  EXPECT_THAT(error_of(batch), HasSubstr("SLURM_NTASKS=2, but neither SLURM_STEP_ID nor SLURM_STEP_NUM_TASKS is set"));
  EXPECT_THAT(error_of(batch), HasSubstr("expected srun before ddpprof worker in the batch script"));
  EXPECT_EQ(start_of(with(batch, "SLURM_NTASKS", "1")).world_size, 1);
  EXPECT_EQ(start_of(with(batch, "SLURM_STEP_ID", "0")).world_size, 2);
}

TEST(Slurm, NodeListsInBrackets) {
  EXPECT_EQ(first_host("gpu[03-05,09],cpu1"), "gpu03");
  EXPECT_EQ(first_host("gpu[7,9]"), "gpu7");
  EXPECT_EQ(first_host("rack[1-2]n[04-08]-ib"), "rack1n04-ib");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("solo.example"), "solo.example");
  EXPECT_EQ(first_host(""), "");
  EXPECT_EQ(first_host("gpu[03"), "");
}

// The variables of mpirun of Open MPI 4.1.
const Set open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};

TEST(OpenMpi, OnOneHostMeetsThere) {
  const Start start = start_of(open_mpi);
  EXPECT_EQ(start.starter, Starter::mpirun);
  EXPECT_EQ(start.rank, 1);
  EXPECT_EQ(start.world_size, 2);
  EXPECT_EQ(start.local_rank, 1);
  EXPECT_EQ(start.local_world_size, 2);
  EXPECT_EQ(start.master_address, "127.0.0.1");
  EXPECT_EQ(start.master_port, 29500);
  EXPECT_EQ(start_of(with(open_mpi, "PMIX_NAMESPACE", "789446657")).run_id, "789446657");
}

TEST(OpenMpi, OnSeveralHostsNeedsAnAddress) {
  const Set several = with(open_mpi, "OMPI_COMM_WORLD_SIZE", "4");
  EXPECT_THAT(error_of(several), HasSubstr("mpirun -x MASTER_ADDR=HOST"));
  EXPECT_EQ(start_of(with(several, "MASTER_ADDR", "gpu01")).master_address, "gpu01");
}

const Set mpich = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};

TEST(Mpich, IsMappedAsOpenMpiIs) {
  const Start start = start_of(mpich);
  EXPECT_EQ(start.starter, Starter::mpirun);
  EXPECT_EQ(start.rank, 1);
  EXPECT_EQ(start.world_size, 2);
  EXPECT_EQ(start.local_rank, 1);
  EXPECT_EQ(start.master_address, "127.0.0.1");
  EXPECT_THAT(error_of(with(mpich, "PMI_SIZE", "4")), HasSubstr("-genv MASTER_ADDR HOST"));
}

TEST(Mpich, UnderSrunSlurmsOwnNamesHold) {
  Set all = slurm;
  all.insert(mpich.begin(), mpich.end());
  EXPECT_EQ(start_of(all).starter, Starter::srun);
}

// The variables of the training operator in the second pod of a PyTorchJob of four.
const Set pod = {{"MASTER_ADDR", "job-master-0"},
                 {"MASTER_PORT", "23456"},
                 {"PET_MASTER_ADDR", "job-master-0"},
                 {"PET_MASTER_PORT", "23456"},
                 {"WORLD_SIZE", "4"},
                 {"RANK", "1"},
                 {"PET_NODE_RANK", "1"},
                 {"PET_NPROC_PER_NODE", "auto"},
                 {"PET_NNODES", "4"}};

TEST(Pod, WithoutALocalRankIsOneRank) {
  const Start start = start_of(pod);
  EXPECT_EQ(start.starter, Starter::kubernetes);
  EXPECT_EQ(start.rank, 1);
  EXPECT_EQ(start.world_size, 4);
  EXPECT_EQ(start.local_rank, 0);
  EXPECT_EQ(start.local_world_size, 1);
  EXPECT_EQ(start.master_address, "job-master-0");
  EXPECT_EQ(start.master_port, 23456);
  EXPECT_EQ(describe(start), "rank 1 of 4, started by kubernetes");
  // KUBERNETES_SERVICE_HOST marks a pod. Without it, a missing LOCAL_RANK is an error.
  const Set bare = without(five, "LOCAL_RANK");
  EXPECT_THAT(error_of(bare), HasSubstr("LOCAL_RANK is not set"));
  EXPECT_EQ(start_of(with(bare, "KUBERNETES_SERVICE_HOST", "10.96.0.1")).starter, Starter::kubernetes);
}

TEST(Pod, WhatIsMissingIsNamed) {
  EXPECT_THAT(error_of(without(pod, "MASTER_PORT")),
              HasSubstr("environment variable MASTER_PORT is not set, but RANK"));
  EXPECT_THAT(error_of(with(pod, "RANK", "4")), HasSubstr("RANK=4: expected less than WORLD_SIZE=4"));
}

TEST(Pod, OfSeveralRanksNeedsTorchrun) {
  const Set several = with(with(pod, "PET_NPROC_PER_NODE", "2"), "WORLD_SIZE", "8");
  EXPECT_THAT(error_of(several), HasSubstr("PET_NPROC_PER_NODE=2 requests several ranks in this pod"));
  EXPECT_THAT(error_of(several), HasSubstr("torchrun --no-python ddpprof worker"));
  EXPECT_EQ(start_of(with(several, "LOCAL_RANK", "0")).world_size, 8);  // started by torchrun
}

TEST(Pod, OfAnElasticJobNeedsTorchrun) {
  const Set elastic = {
      {"PET_RDZV_BACKEND", "c10d"}, {"PET_RDZV_ENDPOINT", "job-worker-0:23456"}, {"PET_NNODES", "1:4"}};
  EXPECT_THAT(error_of(elastic), HasSubstr("PET_RDZV_ENDPOINT is set, but RANK and WORLD_SIZE are not"));
  EXPECT_THAT(error_of(without(elastic, "PET_RDZV_ENDPOINT")), HasSubstr("PET_NNODES is set"));
}

TEST(Order, TorchrunsNamesThenOpenMpisThenSlurms) {
  Set all = slurm;
  all.insert(open_mpi.begin(), open_mpi.end());
  EXPECT_EQ(start_of(all).starter, Starter::mpirun);  // mpirun inside an allocation
  all.insert(five.begin(), five.end());
  EXPECT_EQ(start_of(all).starter, Starter::hand);
}

}  // namespace
}  // namespace ddpprof::launcher
