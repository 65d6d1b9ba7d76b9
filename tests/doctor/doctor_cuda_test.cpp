// Checks of `ddpprof doctor` for GPUs, CUDA versions, NCCL, fabrics and other profilers, on recorded machines.
#include <gmock/gmock.h>

#include "tests/doctor/doctor_facts.hpp"

namespace ddpprof::doctor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Library library(const std::string& path, std::int64_t number) {
  return {path, host::Reading<std::int64_t>::of(number)};
}

// Eight H100, one without NVLinks; InfiniBand with one dead port.
Facts h100x8() {
  Facts facts = facts_of("h100x8");
  facts.nvml = host::read_nvml(DDPPROF_NVML_H100X8);
  facts.cuda = host::Reading<bool>::of(true);
  facts.worker.cuda = "12.6";
  facts.worker.cuda_devices = 8;
  facts.libraries.cupti = library("/opt/torch/libcupti.so.12", 24);
  facts.libraries.nccl = library("/opt/torch/libnccl.so.2", 22105);
  facts.libraries.cuda_runtime = library("/opt/torch/libcudart.so.12", 12060);
  return facts;
}

TEST(GpuHost, DevicesAndTheirLinksAreNamedWithWhatToDo) {
  const Facts facts = h100x8();
  const Check first = check_of(facts, "device 0");
  EXPECT_EQ(first.verdict, Verdict::good) << first.advice;
  EXPECT_THAT(first.found, AllOf(HasSubstr("18 NVLinks active (version 4.0, 450 GB/s each way)"),
                                 HasSubstr("PCIe gen 1 ×16 of gen 5 ×16"), Not(HasSubstr("persistence"))));
  const Check last = check_of(facts, "device 7");
  EXPECT_EQ(last.verdict, Verdict::bad);
  EXPECT_THAT(last.found,
              AllOf(HasSubstr("0 NVLinks active"), HasSubstr("×8 of gen 5 ×16"), HasSubstr("persistence off"),
                    HasSubstr("exclusive process"), HasSubstr("4 memory errors")));
  EXPECT_THAT(last.advice, AllOf(HasSubstr("fewer lanes"), HasSubstr("nvidia-smi -pm 1"), HasSubstr("-c DEFAULT"),
                                 HasSubstr("wrong numbers")));
  const Check ways = check_of(facts, "paths between devices");
  EXPECT_EQ(ways.verdict, Verdict::note);
  EXPECT_THAT(ways.found, AllOf(HasSubstr("NVLink: 0-1 0-2"), HasSubstr("SYS: 0-7 1-7 2-7 3-7 4-7 5-7 6-7")));
}

TEST(GpuHost, PortsThatAreAlikeAreOneLine) {
  const Facts facts = h100x8();
  const Check active = check_of(facts, "fabric mlx5_0/1, mlx5_1/1, mlx5_2/1, mlx5_3/1, mlx5_4/1, mlx5_5/1, mlx5_6/1");
  EXPECT_EQ(active.found, "ACTIVE, 400 Gb/sec (4X NDR), InfiniBand");
  EXPECT_EQ(active.verdict, Verdict::good);
  const Check dead = check_of(facts, "fabric mlx5_7/1");
  EXPECT_THAT(dead.found, AllOf(HasSubstr("DOWN"), HasSubstr("Polling")));
  EXPECT_EQ(dead.verdict, Verdict::note);
  const Check interface = check_of(facts, "ens1");
  EXPECT_THAT(interface.found, AllOf(HasSubstr("200000 Mbit/s"), HasSubstr("MTU 1500")));
  EXPECT_THAT(interface.advice, HasSubstr("MTU 9000"));
}

TEST(Cuda, VersionsAreHeldAgainstTheDriver) {
  Facts facts = h100x8();
  EXPECT_EQ(check_of(facts, "CUDA versions").found, "driver up to 12.8, LibTorch built for 12.6, runtime 12.6");
  EXPECT_EQ(check_of(facts, "CUDA versions").verdict, Verdict::good);
  EXPECT_EQ(check_of(facts, "CUPTI").found,
            "/opt/torch/libcupti.so.12: CUDA 12.6 (API 24), compatible with the driver");
  facts.worker.cuda = "13.0";
  facts.libraries.cupti = library("/opt/torch/libcupti.so.13", 130001);
  EXPECT_EQ(check_of(facts, "CUDA versions").verdict, Verdict::bad);
  EXPECT_THAT(check_of(facts, "CUDA versions").advice, HasSubstr("driver for CUDA 13.0"));
  EXPECT_EQ(check_of(facts, "CUPTI").verdict, Verdict::bad);
  EXPECT_THAT(check_of(facts, "CUPTI").advice, HasSubstr("the CUPTI of CUDA 12.8"));
  facts.libraries.cupti = library("/opt/torch/libcupti.so.12", 28);  // 12.9: the same major version
  EXPECT_EQ(check_of(facts, "CUPTI").verdict, Verdict::note);
  facts.libraries.cupti = library("/old/libcupti.so.10", 12);
  EXPECT_THAT(check_of(facts, "CUPTI").advice, HasSubstr("cannot read its records"));
  facts.libraries.cupti = {};
  EXPECT_THAT(check_of(facts, "CUPTI").found, HasSubstr("LibTorch has none"));
}

TEST(Cuda, NcclsVersionSaysWhetherItTakesProfilers) {
  EXPECT_EQ(nccl_version(22304), "2.23.4");
  EXPECT_EQ(nccl_version(2708), "2.7.8");
  Facts facts = h100x8();
  EXPECT_THAT(check_of(facts, "NCCL").found, HasSubstr("version 2.21.5, without profiler plugins"));
  EXPECT_EQ(check_of(facts, "NCCL").verdict, Verdict::note);
  facts.libraries.nccl = library("/opt/torch/libnccl.so.2", 22304);
  EXPECT_EQ(check_of(facts, "NCCL").verdict, Verdict::good);
  facts.environment["NCCL_PROFILER_PLUGIN"] = "libnccl-profiler-other.so";
  bool told = false;
  for (const Check& check : make_checks(facts))
    told = told || (check.area == "CUDA and profilers" && check.what == "NCCL_PROFILER_PLUGIN" &&
                    check.found.ends_with("not ddpprof's"));
  EXPECT_TRUE(told);
}

TEST(Profilers, WhatIsSetUpOrAttachedIsNamed) {
  Facts facts = facts_of("laptop");
  EXPECT_EQ(check_of(facts, "other profilers").verdict, Verdict::good);
  facts.environment = relevant_variables({"NSYS_PROFILING_SESSION_ID=7", "KINETO_USE_DAEMON=1", "NSYSTEM=1",
                                          "CUDA_INJECTION64_PATH=/opt/nsys/libToolsInjection64.so",
                                          "LD_PRELOAD=/usr/lib/libmpiP.so", "TEARDOWN_CUPTI=1"});
  EXPECT_EQ(facts.environment.size(), 5u);
  const Check others = check_of(facts, "other profilers");
  EXPECT_EQ(others.verdict, Verdict::note);
  for (const char* name : {"NSYS_PROFILING_SESSION_ID", "KINETO_USE_DAEMON", "libToolsInjection64", "libmpiP"})
    EXPECT_THAT(others.found, HasSubstr(name));
  facts.environment =
      relevant_variables({"CUDA_INJECTION64_PATH=/usr/lib/libddpprof-tracer.so", "LD_PRELOAD=/lib/a.so"});
  EXPECT_EQ(check_of(facts, "other profilers").verdict, Verdict::good) << "ddpprof's tracer does not count";
}

// Without CAP_SYS_ADMIN, traced by a debugger, 64 MiB of shared memory, 64 KiB of lockable memory.
TEST(Container, WithoutPrivilegesKernelsCanStillBeRecorded) {
  Facts facts = facts_of("container-gpu");
  facts.cuda = host::Reading<bool>::of(true);
  facts.worker.cuda_devices = 1;
  facts.shared_memory = host::Reading<host::Space>::of({std::int64_t{64} << 20, std::int64_t{64} << 20});
  facts.limits.locked_bytes = 64 << 10;
  const Check permission = check_of(facts, "profiling permission");
  EXPECT_THAT(permission.found, AllOf(HasSubstr("administrators only"), HasSubstr("does not have CAP_SYS_ADMIN")));
  EXPECT_EQ(permission.verdict, Verdict::good);
  EXPECT_THAT(permission.advice, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_TRUE(ability_of(facts, "GPU kernels").can);
  EXPECT_THAT(check_of(facts, "other profilers").found, HasSubstr("process 77 traces this one"));
  EXPECT_EQ(check_of(facts, "other profilers").verdict, Verdict::bad);
  EXPECT_THAT(check_of(facts, "/dev/shm").advice, HasSubstr("--shm-size"));
  EXPECT_THAT(check_of(facts, "locked memory (ulimit -l)").advice, HasSubstr("ulimit -l unlimited"));
  EXPECT_THAT(check_of(facts, "eth0").advice, IsEmpty());
}

TEST(Laptop, WithoutAGpuNothingIsMissing) {
  const Facts facts = facts_of("laptop");
  EXPECT_EQ(check_of(facts, "driver").verdict, Verdict::note);
  EXPECT_EQ(check_of(facts, "CUDA versions").found, "no driver, LibTorch built for 13.0");
  for (const Check& check : make_checks(facts)) {
    if (check.area != "CUDA and profilers") continue;
    EXPECT_NE(check.what, "profiling permission");
    EXPECT_NE(check.verdict, Verdict::bad) << check.what;
  }
  EXPECT_FALSE(ability_of(facts, "GPU kernels").can);
}

TEST(Environment, SwitchesThatSlowNcclAreNamed) {
  Facts facts = facts_of("laptop");
  facts.environment = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_PROTO", "LL"}, {"NCCL_IB_DISABLE", "0"}};
  EXPECT_THAT(check_of(facts, "NCCL_P2P_DISABLE").advice, HasSubstr("through its memory"));
  EXPECT_EQ(check_of(facts, "NCCL_PROTO").verdict, Verdict::note);
  EXPECT_EQ(check_of(facts, "NCCL_IB_DISABLE").verdict, Verdict::good);
}

TEST(Libraries, AreReadFromTheLoadersList) {
  const auto loaded = parse_loaded(
      "\tlinux-vdso.so.1 (0x00007ffd0c5f9000)\n"
      "\tlibnccl.so.2 => /opt/torch/../a b/libnccl.so.2 (0x00007f4818e00000)\n"
      "\tlibcupti.so.13 => not found\n"
      "\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n");
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(loaded.at("libnccl.so.2"), "/opt/a b/libnccl.so.2");
  EXPECT_EQ(loaded.at("libc.so.6"), "/lib/libc.so.6");
}

// A program of this machine: the loader lists its libraries without running it.
TEST(Libraries, OfAProgramThatHasNone) {
  const Libraries found = look_at_libraries("/bin/sh", std::chrono::seconds(30));
  EXPECT_EQ(found.problem, "");
  EXPECT_FALSE(found.loaded.empty());
  EXPECT_TRUE(found.nccl.path.empty());
  EXPECT_NE(look_at_libraries({}, std::chrono::seconds(1)).problem, "");
}

}  // namespace
}  // namespace ddpprof::doctor
