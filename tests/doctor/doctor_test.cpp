// `ddpprof doctor` on recorded machines (tests/host/machines), with faulty programs, and on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/measure/command.hpp"
#include "tests/cli/run_program.hpp"
#include "tests/doctor/doctor_facts.hpp"

namespace ddpprof::doctor {
namespace {

using measure::CommandOutcome;
using measure::run_command;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Checks, AQuietVirtualMachineIsReadToTheEnd) {
  const Facts facts = facts_of("container-v2");
  EXPECT_THAT(check_of(facts, "model").found, HasSubstr("in a virtual machine"));
  const Check cores = check_of(facts, "cores");
  EXPECT_EQ(cores.found, "2 usable; 4 online; cgroup quota 1.5 cores");
  EXPECT_EQ(cores.verdict, Verdict::note);
  EXPECT_THAT(check_of(facts, "frequency").found, HasSubstr("not readable here (no cpufreq"));
  EXPECT_EQ(check_of(facts, "clock source").verdict, Verdict::good);
  EXPECT_EQ(check_of(facts, "time lost to the cgroup's quota").verdict, Verdict::note);
  EXPECT_THAT(check_of(facts, "memory").found, HasSubstr("cgroup limit 2 GiB with 1.50 GiB left"));
  EXPECT_EQ(check_of(facts, "driver").verdict, Verdict::note);
}

TEST(Checks, ADesktopsFaultsAreNamedWithWhatToDo) {
  const Facts facts = facts_of("desktop");
  const std::pair<const char*, const char*> advised[] = {{"hardware threads", "at 4 or below"},
                                                         {"frequency governor", "-g performance"},
                                                         {"turbo", "no_turbo"},
                                                         {"thermal throttling", "too hot before"},
                                                         {"clock source", "clocksource=tsc"},
                                                         {"perf_event_paranoid", "perf_event_paranoid=2"},
                                                         {"load average", "busy in the last minute"},
                                                         {"waiting for a core", "more threads"},
                                                         {"swap in use", "swapoff"},
                                                         {"enp3s0", "125 MB/s"}};
  for (const auto& [what, advice] : advised) {
    const Check check = check_of(facts, what);
    EXPECT_EQ(check.verdict, Verdict::note) << what;
    EXPECT_THAT(check.advice, HasSubstr(advice)) << what;
  }
}

TEST(Checks, BusyNeighboursAndStealAreJudgedByTheirShare) {
  Facts facts = facts_of("desktop");
  host::CpuTimes spent;
  spent.user_ns = 900'000'000;
  spent.idle_ns = 3'000'000'000;
  spent.steal_ns = 100'000'000;
  spent.cpus = 8;
  facts.window = {0.5, host::Reading<host::CpuTimes>::of(spent), {{77, "stress", 3.5}, {78, "cc1plus", 0.2}}, {}};
  const Check others = check_of(facts, "other processes");
  EXPECT_EQ(others.found, "stress (pid 77) 3.50 cores, cc1plus (pid 78) 0.20 cores over 0.5 s");
  EXPECT_EQ(others.verdict, Verdict::bad);
  EXPECT_THAT(others.advice, HasSubstr("46 % of this machine"));
  const Check steal = check_of(facts, "steal time");
  EXPECT_EQ(steal.found, "2.5 % over 0.5 s");
  EXPECT_EQ(steal.verdict, Verdict::note);
  facts.window.busy.clear();
  EXPECT_EQ(check_of(facts, "other processes").verdict, Verdict::good);
  // 0.9 s of processor time in half a second; /proc shows a tenth of a core. The rest is in another container.
  facts.window.visible_cores = 0.1;
  EXPECT_EQ(check_of(facts, "other processes").found,
            "none above 0.05 cores over 0.5 s; 1.70 cores by processes that are not visible here");
  EXPECT_EQ(check_of(facts, "other processes").verdict, Verdict::note);
  facts.window.visible_cores = 1.7;
  EXPECT_EQ(check_of(facts, "other processes").verdict, Verdict::good);
}

TEST(Checks, VariablesThatChangeAMeasurementAreFoundAndJudged) {
  Facts facts = facts_of("container-v2");
  EXPECT_EQ(check_of(facts, "variables").verdict, Verdict::good);
  facts.environment = relevant_variables({"HOME=/root", "CUDA_LAUNCH_BLOCKING=1", "MKL_NUM_THREADS=8", "NCCL_ALGO=Tree",
                                          "OMP_NUM_THREADS=4", "LD_PRELOAD=", "TORCH_DISTRIBUTED_DEBUG=OFF", "X=Y=Z"});
  EXPECT_EQ(facts.environment.size(), 6u);
  EXPECT_EQ(check_of(facts, "CUDA_LAUNCH_BLOCKING").verdict, Verdict::bad);
  EXPECT_EQ(check_of(facts, "MKL_NUM_THREADS").verdict, Verdict::bad);
  EXPECT_EQ(check_of(facts, "NCCL_ALGO").verdict, Verdict::note);
  EXPECT_EQ(check_of(facts, "OMP_NUM_THREADS").verdict, Verdict::good);
  EXPECT_EQ(check_of(facts, "LD_PRELOAD").found, "set, empty");
  EXPECT_EQ(check_of(facts, "TORCH_DISTRIBUTED_DEBUG").verdict, Verdict::good);
}

TEST(Checks, AGpuNodeWithReservedProfiling) {
  Facts facts = facts_of("gpu-node");
  facts.cuda = host::Reading<bool>::of(true);
  facts.worker.cuda_devices = 2;
  EXPECT_THAT(check_of(facts, "driver").found, HasSubstr("550.54.15"));
  EXPECT_THAT(check_of(facts, "profiling permission").found, HasSubstr("administrators only"));
  EXPECT_EQ(check_of(facts, "profiling permission").verdict,
            Verdict::good);  // applies to counters only, which ddpprof does not read
  EXPECT_TRUE(ability_of(facts, "GPU kernels").can);
  EXPECT_EQ(check_of(facts, "fabric mlx5_0/1").verdict, Verdict::good);
  EXPECT_EQ(check_of(facts, "fabric mlx5_1/1").verdict, Verdict::note);
  EXPECT_EQ(ability_of(facts, "DDP over NCCL").detail, "up to 2 ranks with one GPU each");
  EXPECT_TRUE(ability_of(facts, "DataParallel on GPUs").can);
  facts.worker.cuda_devices = 0;
  EXPECT_EQ(ability_of(facts, "DDP over NCCL").detail, "LibTorch sees no GPU");
  EXPECT_EQ(check_of(facts, "devices LibTorch sees").verdict, Verdict::bad);
}

TEST(Abilities, WhatCanAndWhatCannotBeMeasured) {
  Facts facts = facts_of("container-v2");
  EXPECT_TRUE(can_measure(facts));
  EXPECT_THAT(ability_of(facts, "DDP over Gloo").detail, HasSubstr("up to 2 ranks with one core each"));
  EXPECT_THAT(ability_of(facts, "DDP over Gloo").detail,
              HasSubstr("memory is sufficient for about 7"));  // 1.5 GiB of 209 MiB
  EXPECT_TRUE(ability_of(facts, "DataParallel on the CPU").can);
  EXPECT_FALSE(ability_of(facts, "DDP over NCCL").can);
  EXPECT_EQ(ability_of(facts, "DDP over NCCL").detail, "no GPU: no NVIDIA driver is loaded");
  EXPECT_FALSE(ability_of(facts, "several hosts").can);
  facts.tracer.problem = "has version 9, this ddpprof has version 1";
  EXPECT_FALSE(ability_of(facts, "phases").can);
  EXPECT_TRUE(can_measure(facts));  // step times need no tracer
  EXPECT_EQ(ability_of(facts, "a job of your own").detail, "the tracer has version 9, this ddpprof has version 1");
  facts.worker.problem = "did not answer within 20 s";
  EXPECT_FALSE(can_measure(facts));
  for (const Ability& ability : abilities(facts)) EXPECT_FALSE(ability.can) << ability.what;
}

TEST(Abilities, RecordingNeedsNoWorker) {
  Facts facts = facts_of("container-v2");
  facts.worker.problem = "not found";
  EXPECT_EQ(ability_of(facts, "a job of your own").detail,
            "Python trainings with torch.profiler; of any program NVTX ranges");
  EXPECT_TRUE(ability_of(facts, "a job of your own").can);
  EXPECT_THAT(ability_of(facts_of("gpu-node"), "a job of your own").detail, HasSubstr("NCCL's collectives"));
  facts.folder_writable = false;
  EXPECT_FALSE(ability_of(facts, "a job of your own").can);
}

TEST(Abilities, NothingCanBeMeasuredWithoutMemoryOrAFolder) {
  Facts facts = facts_of("cgroup-v1");
  facts.memory.available_bytes = host::Reading<std::int64_t>::of(std::int64_t{100} << 20);
  EXPECT_FALSE(can_measure(facts));
  EXPECT_THAT(ability_of(facts, "DDP over Gloo").detail, HasSubstr("100 MiB of memory is available"));
  facts = facts_of("cgroup-v1");
  facts.folder_writable = false;
  EXPECT_FALSE(can_measure(facts));
  EXPECT_EQ(check_of(facts, "disk for databases").verdict, Verdict::bad);
}

TEST(Command, OutputExitCodeAndWhatDoesNotStart) {
  const CommandOutcome said =
      run_command({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}, std::chrono::seconds(30));
  EXPECT_TRUE(said.started);
  EXPECT_EQ(said.exit_code, 7);
  EXPECT_EQ(said.output, "out\n");
  EXPECT_EQ(said.errors, "err\n");
  const CommandOutcome killed = run_command({"/bin/sh", "-c", "kill -TERM $$"}, std::chrono::seconds(30));
  EXPECT_EQ(killed.signal, SIGTERM);
  const CommandOutcome none = run_command({"/no/such/program"}, std::chrono::seconds(30));
  EXPECT_FALSE(none.started);
  EXPECT_THAT(none.error, HasSubstr("No such file"));
}

TEST(Command, CtrlCEndsItAtOnce) {
  const auto file = std::filesystem::temp_directory_path() / ("ddpprof_doctor_interrupted_" + std::to_string(getpid()));
  // The program sends the signal itself, so it certainly runs.
  const CommandOutcome outcome = run_command(
      {"/bin/sh", "-c", "echo $$ > " + file.string() + "; kill -INT $PPID; exec sleep 60"}, std::chrono::seconds(60));
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_LT(outcome.seconds, 30.0);
  const int child = std::stoi(test::read_all(file));
  std::filesystem::remove(file);
  EXPECT_NE(kill(child, 0), 0);  // reaped
}

TEST(Command, WhatHangsIsEndedWithItsChildren) {
  const auto file = std::filesystem::temp_directory_path() / ("ddpprof_doctor_" + std::to_string(getpid()));
  const CommandOutcome hung = run_command({"/bin/sh", "-c", "sleep 60 & echo $! > " + file.string() + "; wait"},
                                          std::chrono::milliseconds(500));
  EXPECT_TRUE(hung.timed_out);
  EXPECT_LT(hung.seconds, 30.0);
  const int child = std::stoi(test::read_all(file));
  std::filesystem::remove(file);
  // It has ended, or is a zombie that init has not reaped yet.
  for (int tries = 0; tries < 500 && kill(child, 0) == 0; ++tries) {
    const std::string stat = test::read_all("/proc/" + std::to_string(child) + "/stat");
    if (stat.find(") Z") != std::string::npos || stat.empty()) break;
    usleep(10'000);
  }
  const std::string stat = test::read_all("/proc/" + std::to_string(child) + "/stat");
  EXPECT_TRUE(stat.empty() || stat.find(") Z") != std::string::npos) << stat;
}

TEST(Doctor, WithoutAWorkerNothingCanBeMeasuredHere) {
  setenv("DDPPROF_WORKER_PROGRAM", "/bin/false", 1);
  const test::Outcome outcome = test::run_ddpprof({"doctor", "--format", "json"});
  unsetenv("DDPPROF_WORKER_PROGRAM");
  EXPECT_EQ(outcome.code, 3) << outcome.messages;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["report"], "doctor");
  EXPECT_EQ(document["tables"][0]["title"], "No training of ddpprof's own can be measured here yet");
  for (const auto& row : document["tables"][0]["rows"])  // a job of the user needs no worker
    EXPECT_EQ(row["can"], row["what"] == "a job of your own (ddpprof record)") << row;
  bool said = false;
  for (const auto& row : document["tables"][1]["rows"])
    said = said || (row["what"] == "ddpprof-worker" && row["verdict"] == "bad" &&
                    row["found"].get<std::string>().find("/bin/false ended with exit code 1") != std::string::npos);
  EXPECT_TRUE(said) << outcome.out;
}

TEST(Doctor, AProgramThatIsNoWorkerIsRefused) {
  setenv("DDPPROF_WORKER_PROGRAM", "/bin/echo", 1);
  setenv("DDPPROF_TRACER_LIBRARY", "/lib/x86_64-linux-gnu/libm.so.6", 1);
  const test::Outcome outcome = test::run_ddpprof({"doctor"});
  unsetenv("DDPPROF_WORKER_PROGRAM");
  unsetenv("DDPPROF_TRACER_LIBRARY");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("JSON object"));
  if (std::filesystem::exists("/lib/x86_64-linux-gnu/libm.so.6")) {
    EXPECT_THAT(outcome.out, HasSubstr("ddpprof_tracer_version"));
  }
}

// LibTorch prints a warning about an old driver before the answer. Training on the CPU is still possible.
TEST(Doctor, AWorkerThatWarnsStillAnswers) {
  const auto file = std::filesystem::temp_directory_path() / ("ddpprof_warner_" + std::to_string(getpid()));
  const nlohmann::json answer = {{"program", "ddpprof-worker"}, {"program_version", DDPPROF_VERSION},
                                 {"torch_version", "2.11.0"},   {"cuda_version", "13.0"},
                                 {"backends", {"gloo"}},        {"cuda_devices", 0}};
  std::ofstream(file) << "#!/bin/sh\necho 'the NVIDIA driver on your system is too old' >&2\necho '" << answer.dump()
                      << "'\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  setenv("DDPPROF_WORKER_PROGRAM", file.c_str(), 1);
  const test::Outcome outcome = test::run_ddpprof({"doctor"});
  unsetenv("DDPPROF_WORKER_PROGRAM");
  std::filesystem::remove(file);
  EXPECT_THAT(outcome.out, HasSubstr("it warns: the NVIDIA"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("JSON object")));
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

TEST(Doctor, AFolderThatCannotBeWrittenToIsNamed) {
  const test::Outcome outcome = test::run_ddpprof({"doctor", "--folder", "/no/such/folder"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("/no/such/folder"));
  EXPECT_EQ(test::run_ddpprof({"doctor", "--format", "yaml"}).code, 2);
}

}  // namespace
}  // namespace ddpprof::doctor
