// Checks of NVIDIA's driver, the devices and their links.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* gpus_area = "GPU";

std::string number_or(const host::Reading<int>& reading, const char* unit) {
  return reading ? fmt::format("{}{}", *reading, unit) : unreadable(reading.why);
}

void device(const host::Gpu& gpu, std::size_t index, std::size_t devices, Checks& checks) {
  Check check{gpus_area, fmt::format("device {}", index), gpu.name, Verdict::good, ""};
  if (!gpu.bus.empty()) check.found += " at " + gpu.bus;
  check.found += gpu.memory_bytes && gpu.memory_free_bytes
                     ? fmt::format(", {} free of {}", gibibytes(*gpu.memory_free_bytes), gibibytes(*gpu.memory_bytes))
                     : ", memory: " + unreadable(gpu.memory_bytes.why);
  check.found += ", clock " + number_or(gpu.clock_mhz, " MHz") + " of " + number_or(gpu.most_clock_mhz, " MHz");
  check.found += ", PCIe " + (gpu.pcie ? *gpu.pcie : unreadable(gpu.pcie.why));
  check.found +=
      gpu.nvlinks ? fmt::format(", {} NVLinks active", *gpu.nvlinks) : ", NVLink: " + unreadable(gpu.nvlinks.why);
  if (gpu.nvlink_version && gpu.nvlink_gb_per_s)
    check.found += fmt::format(" (version {}, {:.0f} GB/s each way)", *gpu.nvlink_version, *gpu.nvlink_gb_per_s);
  const auto advise = [&](Verdict verdict, const std::string& advice) {
    check.verdict = std::max(check.verdict, verdict);
    check.advice += (check.advice.empty() ? "" : "; ") + advice;
  };
  if (!gpu.mig) {
    check.found += ", MIG: " + unreadable(gpu.mig.why);
  } else if (*gpu.mig) {
    check.found += ", MIG on";
    advise(Verdict::note,
           "its instances share the chip, and NCCL cannot connect them: measure on a whole "
           "device (nvidia-smi -mig 0)");
  }
  if (!gpu.slowed_by) {
    check.found += ", throttling: " + unreadable(gpu.slowed_by.why);
  } else if (!gpu.slowed_by->empty()) {
    check.found += ", slowed by " + *gpu.slowed_by;
    advise(Verdict::note, "it runs below its nominal clock: lock a lower clock (nvidia-smi -lgc) to compare runs");
  }
  if (gpu.pcie_narrow && *gpu.pcie_narrow)
    advise(Verdict::note,
           "its PCIe link has fewer lanes than the device supports, so copies from the host are slower: use another "
           "slot, or reseat the card");
  if (gpu.persistent && !*gpu.persistent) {
    check.found += ", persistence off";
    advise(Verdict::note, "the device is initialised again at each start of a program, for seconds: nvidia-smi -pm 1");
  }
  if (gpu.compute_mode && *gpu.compute_mode != "default") {
    check.found += ", compute mode " + *gpu.compute_mode;
    advise(*gpu.compute_mode == "prohibited" ? Verdict::bad : Verdict::note,
           *gpu.compute_mode == "prohibited"
               ? "the device accepts no computation: nvidia-smi -c DEFAULT"
               : "only one process at a time: a second rank on the device fails (nvidia-smi -c DEFAULT)");
  }
  if (gpu.memory_errors && *gpu.memory_errors > 0) {
    check.found += fmt::format(", {} memory errors that ECC could not correct", *gpu.memory_errors);
    advise(Verdict::bad,
           "the device may compute wrong numbers or end the job: reset it, and replace it if they "
           "come again");
  }
  if (gpu.processes && *gpu.processes > 0) {
    check.found += fmt::format(", {} other process{}", *gpu.processes, *gpu.processes == 1 ? "" : "es");
    advise(Verdict::bad, "end them, or choose another device with CUDA_VISIBLE_DEVICES");
  }
  if (devices > 1) {
    std::string peers;
    for (const int peer : gpu.peers) peers += (peers.empty() ? "" : ", ") + std::to_string(peer);
    check.found += peers.empty() ? ", no direct access to other devices" : ", direct access to: " + peers;
    if (gpu.peers.size() + 1 < devices)
      advise(Verdict::note, "without P2P NCCL copies through the host's memory: see nvidia-smi topo -m");
  }
  checks.push_back(check);
}

// "NVLink between all", or each kind of path with its pairs of devices.
void pairs(const std::vector<host::Gpu>& gpus, Checks& checks) {
  std::map<std::string, std::string> by_path;
  std::size_t count = 0;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = i + 1; j < gpus[i].paths.size(); ++j, ++count)
      by_path[gpus[i].paths[j]] += fmt::format("{}{}-{}", by_path[gpus[i].paths[j]].empty() ? "" : " ", i, j);
  if (count == 0) return;
  Check check{gpus_area, "paths between devices", "", Verdict::good, ""};
  for (const auto& [path, which] : by_path)
    check.found += (check.found.empty() ? "" : "; ") + path + (by_path.size() == 1 ? " between all" : ": " + which);
  if (by_path.contains("SYS") || by_path.contains("NODE") || by_path.contains("PHB")) {
    check.verdict = Verdict::note;
    check.advice =
        "PHB, NODE and SYS lead through the host's bridges or between its sockets, which limits an all-reduce over "
        "such a pair; predictions are valid for the same pairs only (see nvidia-smi topo -m)";
  } else if (by_path.contains("NVLink") && by_path.size() > 1) {
    check.verdict = Verdict::note;
    check.advice = "some pairs have no NVLink: an all-reduce is as slow as its slowest link";
  }
  checks.push_back(check);
}

}  // namespace

void check_gpus(const Facts& facts, Checks& checks) {
  Check driver{gpus_area, "driver", "", Verdict::good, ""};
  if (facts.driver.version) {
    driver.found = *facts.driver.version;
    if (facts.nvml.cuda_version) driver.found += ", supports CUDA up to " + *facts.nvml.cuda_version;
  } else {
    driver.found = "none loaded (" + facts.driver.version.why + ")";
    driver.verdict = Verdict::note;
    driver.advice = "if this machine has an NVIDIA GPU, install the driver";
  }
  checks.push_back(driver);
  if (!facts.driver.version && facts.driver.devices == 0 && !facts.nvml.gpus) return;

  Check library{gpus_area, "libcuda", facts.cuda ? "loads" : unreadable(facts.cuda.why), Verdict::good, ""};
  if (!facts.cuda) {
    library.verdict = Verdict::bad;
    library.advice = "start a container with --gpus all (NVIDIA Container Toolkit)";
  }
  checks.push_back(library);
  if (facts.nvml.gpus) {
    for (std::size_t i = 0; i < facts.nvml.gpus->size(); ++i)
      device((*facts.nvml.gpus)[i], i, facts.nvml.gpus->size(), checks);
    pairs(*facts.nvml.gpus, checks);
  } else {
    checks.push_back(
        {gpus_area, "devices",
         fmt::format("the driver counts {}; details {}", facts.driver.devices, unreadable(facts.nvml.gpus.why)),
         Verdict::note, "install NVML, which is a part of the driver: libnvidia-ml.so.1"});
  }
  Check seen{gpus_area, "devices LibTorch sees", std::to_string(facts.worker.cuda_devices), Verdict::good, ""};
  if (facts.worker.cuda_devices < facts.driver.devices) {
    seen.verdict = facts.worker.cuda_devices == 0 ? Verdict::bad : Verdict::note;
    seen.advice = fmt::format(
        "the driver has {}: check CUDA_VISIBLE_DEVICES, and whether the driver is new enough "
        "for CUDA {}",
        facts.driver.devices, facts.worker.cuda);
  }
  checks.push_back(seen);
}

}  // namespace ddpprof::doctor
