// Recorded /proc and /sys files, read by the code that reads the machine. machines/<name> is a root folder.
#include "runner/host/host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "runner/host/activity.hpp"
#include "runner/host/conditions.hpp"
#include "runner/host/cpu.hpp"
#include "runner/host/gpu.hpp"
#include "runner/host/memory.hpp"
#include "runner/host/network.hpp"
#include "runner/host/within.hpp"

namespace ddpprof::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Host machine(const std::string& name) { return Host(std::filesystem::path(DDPPROF_MACHINES) / name); }

TEST(Parsers, ListsOfProcessors) {
  EXPECT_THAT(parse_cpu_list("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(parse_cpu_list("5"), ElementsAre(5));
  for (const char* bad : {"", "x", "3-1", "0-", "0-99999999999"}) EXPECT_THAT(parse_cpu_list(bad), IsEmpty()) << bad;
}

TEST(Parsers, FieldsAreFoundByTheirWholeName) {
  EXPECT_EQ(field("MemTotalX: 1\nMemTotal:  2 kB\n", "MemTotal"), "2 kB");
  EXPECT_EQ(field("cpu MHz\t\t: 2299.998\n", "cpu MHz"), "2299.998");
  EXPECT_EQ(field("a: 1\n", "b"), std::nullopt);
}

TEST(Reading, WhatCannotBeReadSaysWhy) {
  const Host host = machine("desktop");
  EXPECT_THAT(host.text("/proc/nothing").why, HasSubstr("/proc/nothing: No such file"));
  EXPECT_THAT(host.number("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").why,
              HasSubstr("expected a number, found 'powersave'"));
  EXPECT_THAT(host.names("/no/such/folder"), IsEmpty());
}

TEST(Cpu, HardwareThreadsShareCores) {
  const Cpu cpu = read_cpu(machine("desktop"));
  EXPECT_EQ(*cpu.model, "Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz");
  EXPECT_EQ(cpu.online->size(), 8u);
  EXPECT_EQ(*cpu.physical, 4);
  EXPECT_FALSE(cpu.virtual_machine);
  EXPECT_TRUE(cpu.counts_cycles);
  EXPECT_EQ(usable_cores(machine("desktop"), 1), 8);
}

TEST(Cpu, AQuotaBindsWhereverItStands) {
  // v2: a quota of 150 ms per 100 ms at the mount's root, although the process's own folder does not exist there.
  EXPECT_DOUBLE_EQ(*quota_cores(machine("container-v2")), 1.5);
  EXPECT_EQ(usable_cores(machine("container-v2"), 1), 2);  // rounded up
  EXPECT_EQ(*quota_throttled_ns(machine("container-v2")), 1'234'567'000);
  // v1: the parent allows a quarter of a core; the group itself has no quota.
  EXPECT_DOUBLE_EQ(*quota_cores(machine("cgroup-v1")), 0.25);
  EXPECT_EQ(usable_cores(machine("cgroup-v1"), 1), 1);
  EXPECT_EQ(*quota_throttled_ns(machine("cgroup-v1")), 2'500'000'000);
  EXPECT_FALSE(quota_cores(machine("desktop")).has_value());
  EXPECT_FALSE(quota_throttled_ns(machine("desktop")));
}

TEST(Cpu, AnAffinityNarrowsWhatIsThere) {
  const Cpu cpu = read_cpu(machine("gpu-node"));
  EXPECT_THAT(*cpu.allowed, ElementsAre(0));
  EXPECT_FALSE(cpu.physical);  // no topology recorded
  EXPECT_THAT(cpu.physical.why, HasSubstr("thread_siblings_list"));
  EXPECT_EQ(usable_cores(machine("gpu-node"), 16), 1);
  EXPECT_EQ(usable_cores(Host("/no/such/root"), 16), 16);
}

TEST(Frequency, ComesFromCpufreqOrFromCountedCyclesOnly) {
  const Frequency desktop = read_frequency(machine("desktop"));
  EXPECT_DOUBLE_EQ(*desktop.now_hz, 1.5e9);  // of 800, 900, … 1500 MHz
  EXPECT_DOUBLE_EQ(*desktop.most_hz, 4e9);
  EXPECT_EQ(*desktop.governor, "powersave");
  EXPECT_TRUE(*desktop.turbo);
  EXPECT_DOUBLE_EQ(*read_frequency(machine("gpu-node")).now_hz, 3e9);     // aperfmperf: /proc/cpuinfo is measured
  const Frequency virtual_one = read_frequency(machine("container-v2"));  // its 2450 MHz is nominal
  EXPECT_FALSE(virtual_one.now_hz);
  EXPECT_THAT(virtual_one.now_hz.why, HasSubstr("nominal"));
  EXPECT_FALSE(virtual_one.turbo);
}

TEST(Cpu, ThrottlingIsCountedOnceAPackage) {
  EXPECT_EQ(*thermal_throttles(machine("desktop")), 7 + 7 + 9);  // two threads of one core, one package of eight
  EXPECT_FALSE(thermal_throttles(machine("container-v2")));
}

TEST(Activity, TimesOfAllProcessors) {
  const auto times = read_cpu_times(machine("cgroup-v1"));
  ASSERT_TRUE(times);
  const std::int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  EXPECT_EQ(times->cpus, 2);
  EXPECT_EQ(times->user_ns, (1778811 + 660336) * tick);  // nice counts as user time
  EXPECT_EQ(times->idle_ns, (2574167 + 12637) * tick);
  EXPECT_EQ(times->interrupt_ns, 9326 * tick);
  EXPECT_EQ(times->steal_ns, 6963 * tick);
  EXPECT_EQ((*times - *times).total_ns(), 0);
  EXPECT_DOUBLE_EQ(*load_average(machine("cgroup-v1")), 1.93);
  EXPECT_DOUBLE_EQ(*cpu_pressure_percent(machine("desktop")), 23.5);
  EXPECT_FALSE(cpu_pressure_percent(machine("cgroup-v1")));
}

TEST(Activity, BusyProcessesAreNamedWithoutOurOwn) {
  const auto before = read_processes(machine("processes-1")), after = read_processes(machine("processes-2"));
  EXPECT_EQ(after.at(20).name, "a) (b");
  const std::int64_t second = 1'000'000'000;
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto busy = busy_between(before, after, second, 0.05, 40);
  ASSERT_EQ(busy.size(), 3u);  // 40 is `own` and 50 is its child
  EXPECT_EQ(busy[0].name, "busy");
  EXPECT_DOUBLE_EQ(busy[0].cores, 80 * tick_s);
  EXPECT_EQ(busy[1].name, "new");  // its id belonged to another process before, so all its time is new
  EXPECT_DOUBLE_EQ(busy[1].cores, 20 * tick_s);
  EXPECT_EQ(busy[2].pid, 20);
}

TEST(Memory, ALimitLeavesWhatItsUnusedCacheHolds) {
  const Memory memory = read_memory(machine("container-v2"));
  EXPECT_EQ(*memory.limit_bytes, 2147483648);
  EXPECT_EQ(*memory.limit_free_bytes, 2147483648 - 1610612736 + 1073741824);
  EXPECT_EQ(memory.usable_bytes(), *memory.limit_free_bytes);
  EXPECT_EQ(*memory.swap_used_bytes, 0);
  EXPECT_EQ(*read_memory(machine("desktop")).swap_used_bytes, (2097148 - 1572860) * 1024);
  // v1 writes "no limit" as a very large number.
  EXPECT_FALSE(read_memory(machine("cgroup-v1")).limit_bytes.has_value());
  EXPECT_EQ(read_memory(machine("cgroup-v1")).usable_bytes(), 1500000 * 1024);
}

TEST(Network, InterfacesAndFabric) {
  const auto interfaces = read_interfaces(machine("desktop"), false);
  ASSERT_EQ(interfaces.size(), 3u);
  EXPECT_EQ(interfaces[0].name, "enp3s0");
  EXPECT_EQ(*interfaces[0].megabits_per_s, 1000);
  EXPECT_TRUE(interfaces[1].loopback);
  EXPECT_FALSE(interfaces[2].megabits_per_s);  // -1
  const auto fabric = read_fabric(machine("gpu-node"));
  ASSERT_EQ(fabric.size(), 2u);
  EXPECT_EQ(fabric[0].name, "mlx5_0/1");
  EXPECT_EQ(fabric[0].state, "ACTIVE");
  EXPECT_EQ(fabric[0].rate, "400 Gb/sec (4X NDR)");
}

TEST(Network, NamesResolveOrSayWhy) {
  const auto local = resolve("localhost", std::chrono::seconds(30));
  ASSERT_TRUE(local) << local.why;
  EXPECT_THAT(*local, testing::Contains(testing::AnyOf("127.0.0.1", "::1")));
  // A name reserved as non-existent (RFC 2606). Without a network the error differs, but there is never an address.
  const auto never = resolve("no-such-host.invalid", std::chrono::seconds(30));
  EXPECT_FALSE(never);
  EXPECT_FALSE(never.why.empty());
}

TEST(Driver, VersionDevicesAndWhoMayProfile) {
  const Driver driver = read_driver(machine("gpu-node"));
  EXPECT_EQ(*driver.version, "550.54.15");
  EXPECT_EQ(driver.devices, 2);
  EXPECT_EQ(*driver.models, "NVIDIA H100 80GB HBM3") << "each once";
  EXPECT_TRUE(*driver.profiling_for_administrators);
  const Driver none = read_driver(machine("desktop"));
  EXPECT_FALSE(none.version);
  EXPECT_EQ(none.devices, 0);
  EXPECT_EQ(none.models.why, "no device in /proc/driver/nvidia/gpus");
  EXPECT_FALSE(none.profiling_for_administrators);
}

TEST(Nvml, DescribesDevicesAndSaysWhatItDoesNotKnow) {
  const Nvml nvml = read_nvml(DDPPROF_NVML_ANSWERS);
  ASSERT_TRUE(nvml.gpus) << nvml.gpus.why;
  EXPECT_EQ(*nvml.cuda_version, "12.4");
  ASSERT_EQ(nvml.gpus->size(), 2u);
  const Gpu& one = (*nvml.gpus)[0];
  const Gpu& two = (*nvml.gpus)[1];
  EXPECT_EQ(one.name, "GPU A");
  EXPECT_EQ(*one.memory_free_bytes, std::int64_t{79} << 30);
  EXPECT_EQ(*one.nvlinks, 3);
  EXPECT_EQ(*one.pcie, "gen 4 ×16 of gen 5 ×16");
  EXPECT_EQ(*one.clock_mhz, 1500);
  EXPECT_EQ(*one.most_clock_mhz, 1980);
  EXPECT_EQ(*one.slowed_by, "power cap, hardware: too hot");  // idle (bit 0) is not listed
  EXPECT_EQ(*one.processes, 2);
  EXPECT_FALSE(*one.mig);
  EXPECT_THAT(one.peers, ElementsAre(1));
  EXPECT_TRUE(*two.mig);
  EXPECT_EQ(two.memory_bytes.why, "nvmlDeviceGetMemoryInfo: Not Supported");
  EXPECT_EQ(*two.slowed_by, "");
  EXPECT_THAT(two.peers, IsEmpty());
  EXPECT_THAT(one.bus, IsEmpty());  // this NVML has no nvmlDeviceGetPciInfo_v3
}

TEST(Nvml, LinksAndPairsOfAHostOfEight) {
  const Nvml nvml = read_nvml(DDPPROF_NVML_H100X8);
  ASSERT_TRUE(nvml.gpus) << nvml.gpus.why;
  ASSERT_EQ(nvml.gpus->size(), 8u);
  const Gpu& one = (*nvml.gpus)[0];
  const Gpu& last = (*nvml.gpus)[7];
  EXPECT_EQ(*one.nvlinks, 18);
  EXPECT_EQ(*one.nvlink_version, "4.0");
  EXPECT_DOUBLE_EQ(*one.nvlink_gb_per_s, 450.0);  // NVIDIA's figure is 900 GB/s for both directions together
  EXPECT_FALSE(*one.pcie_narrow);
  EXPECT_TRUE(*one.persistent);
  EXPECT_EQ(*one.compute_mode, "default");
  EXPECT_EQ(*one.memory_errors, 0);
  EXPECT_THAT(one.paths, ElementsAre("", "NVLink", "NVLink", "NVLink", "NVLink", "NVLink", "NVLink", "SYS"));
  EXPECT_EQ(*last.nvlinks, 0);
  EXPECT_FALSE(last.nvlink_version);
  EXPECT_TRUE(*last.pcie_narrow);
  EXPECT_FALSE(*last.persistent);
  EXPECT_EQ(*last.compute_mode, "exclusive process");
  EXPECT_EQ(*last.memory_errors, 4);
}

TEST(Rights, CapabilitiesAndWhoTraces) {
  const Rights root = read_rights(machine("h100x8"));
  EXPECT_TRUE(*root.administrator);
  EXPECT_EQ(*root.tracer, 0);
  const Rights contained = read_rights(machine("container-gpu"));  // Docker's default capabilities
  EXPECT_FALSE(*contained.administrator);
  EXPECT_EQ(*contained.tracer, 77);
  EXPECT_THAT(read_rights(machine("gpu-node")).administrator.why, HasSubstr("no CapEff"));
}

TEST(Nvml, WithoutTheLibraryTheLoaderSaysWhy) {
  const Nvml nvml = read_nvml("libno-such-nvml.so.1");
  EXPECT_FALSE(nvml.gpus);
  EXPECT_THAT(nvml.gpus.why, HasSubstr("libno-such-nvml.so.1"));
  EXPECT_THAT(read_nvml("libm.so.6").gpus.why, HasSubstr("no such function"));
}

// On this machine: the processor time of a busy thread is counted.
TEST(Conditions, OwnProcessorTimeIsCounted) {
  const Usage before = own_usage();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  volatile double sink = 0;
  while (std::chrono::steady_clock::now() < end) sink = sink + 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const Usage used = own_usage() - before;
  EXPECT_GT(used.cpu_ns, 0);
  EXPECT_GE(used.voluntary_switches, 1);  // the sleep
  const Snapshot now = take_snapshot(Host());
  ASSERT_TRUE(now.times.has_value());
  EXPECT_GE(now.times->cpus, 1);
  EXPECT_TRUE(now.load.has_value());
}

TEST(Within, AnswersThrowsOrGivesUp) {
  EXPECT_EQ(within(std::chrono::seconds(30), [] { return 7; }), 7);
  EXPECT_THROW(within(std::chrono::seconds(30), []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  // The call that never returns outlives the function, and ends when its wait ends.
  auto release = std::make_shared<std::promise<void>>();
  const auto ended = std::make_shared<std::promise<void>>();
  std::future<void> end = ended->get_future();
  const auto look = [wait = release->get_future().share(), ended] {
    wait.wait();
    ended->set_value();
    return 7;
  };
  look_left_behind = false;
  EXPECT_EQ(within(std::chrono::milliseconds(20), look), std::nullopt);
  EXPECT_TRUE(look_left_behind);
  release->set_value();
  EXPECT_EQ(end.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

}  // namespace
}  // namespace ddpprof::host
