// NVIDIA's driver, the devices, and whether their activity can be recorded.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/doctor/checks.hpp"

namespace ddpprof::cli {
namespace {

constexpr const char* area = "GPU";

std::string number_or(const host::Reading<int>& reading, const char* unit) {
  return reading ? fmt::format("{}{}", *reading, unit) : unreadable(reading.why);
}

void device(const host::Gpu& gpu, std::size_t index, std::size_t devices, Checks& checks) {
  Check check{area, fmt::format("device {}", index), gpu.name, Verdict::good, ""};
  if (!gpu.bus.empty()) check.found += " at " + gpu.bus;
  check.found += gpu.memory_bytes && gpu.memory_free_bytes
                     ? fmt::format(", {} free of {}", gibibytes(*gpu.memory_free_bytes), gibibytes(*gpu.memory_bytes))
                     : ", memory: " + unreadable(gpu.memory_bytes.why);
  check.found += ", clock " + number_or(gpu.clock_mhz, " MHz") + " of " + number_or(gpu.most_clock_mhz, " MHz");
  check.found += ", PCIe " + (gpu.pcie ? *gpu.pcie : unreadable(gpu.pcie.why));
  check.found +=
      gpu.nvlinks ? fmt::format(", {} NVLinks active", *gpu.nvlinks) : ", NVLink: " + unreadable(gpu.nvlinks.why);
  const auto advise = [&](Verdict verdict, const std::string& advice) {
    check.verdict = std::max(check.verdict, verdict);
    check.advice += (check.advice.empty() ? "" : "; ") + advice;
  };
  if (!gpu.mig) {
    check.found += ", MIG: " + unreadable(gpu.mig.why);
  } else if (*gpu.mig) {
    check.found += ", MIG on";
    advise(Verdict::note,
           "its instances share the chip and cannot reach each other with NCCL: measure on a whole "
           "device (nvidia-smi -mig 0)");
  }
  if (!gpu.slowed_by) {
    check.found += ", throttling: " + unreadable(gpu.slowed_by.why);
  } else if (!gpu.slowed_by->empty()) {
    check.found += ", slowed by " + *gpu.slowed_by;
    advise(Verdict::note, "it runs below its clock; lock one that it can hold (nvidia-smi -lgc) to compare runs");
  }
  if (gpu.processes && *gpu.processes > 0) {
    check.found += fmt::format(", {} other process{}", *gpu.processes, *gpu.processes == 1 ? "" : "es");
    advise(Verdict::bad, "end them, or choose another device with CUDA_VISIBLE_DEVICES");
  }
  if (devices > 1) {
    std::string peers;
    for (const int peer : gpu.peers) peers += (peers.empty() ? "" : ", ") + std::to_string(peer);
    check.found += peers.empty() ? ", reaches no other device directly" : ", reaches directly: " + peers;
    if (gpu.peers.size() + 1 < devices)
      advise(Verdict::note, "NCCL goes through the host's memory where P2P is off: look at nvidia-smi topo -m");
  }
  checks.push_back(check);
}

}  // namespace

void check_gpus(const Facts& facts, Checks& checks) {
  Check driver{area, "driver", "", Verdict::good, ""};
  if (facts.driver.version) {
    driver.found = *facts.driver.version;
    if (facts.nvml.cuda_version) driver.found += ", runs CUDA up to " + *facts.nvml.cuda_version;
  } else {
    driver.found = "none loaded (" + facts.driver.version.why + ")";
    driver.verdict = Verdict::note;
    driver.advice = "on a machine without an NVIDIA GPU this is as it should be; with one, install the driver";
  }
  checks.push_back(driver);
  if (!facts.driver.version && facts.driver.devices == 0 && !facts.nvml.gpus) return;

  Check library{area, "libcuda", facts.cuda ? "loads" : unreadable(facts.cuda.why), Verdict::good, ""};
  if (!facts.cuda) {
    library.verdict = Verdict::bad;
    library.advice = "in a container start it with --gpus all (NVIDIA Container Toolkit)";
  }
  checks.push_back(library);
  if (facts.nvml.gpus) {
    for (std::size_t i = 0; i < facts.nvml.gpus->size(); ++i)
      device((*facts.nvml.gpus)[i], i, facts.nvml.gpus->size(), checks);
  } else {
    checks.push_back(
        {area, "devices",
         fmt::format("{} by the driver's count; details {}", facts.driver.devices, unreadable(facts.nvml.gpus.why)),
         Verdict::note, "NVML comes with the driver: libnvidia-ml.so.1"});
  }
  Check seen{area, "devices LibTorch sees", std::to_string(facts.worker.cuda_devices), Verdict::good, ""};
  if (facts.worker.cuda_devices < facts.driver.devices) {
    seen.verdict = facts.worker.cuda_devices == 0 ? Verdict::bad : Verdict::note;
    seen.advice = fmt::format(
        "the driver has {}: look at CUDA_VISIBLE_DEVICES, and whether the driver is new enough "
        "for CUDA {}",
        facts.driver.devices, facts.worker.cuda);
  }
  checks.push_back(seen);

  Check cupti{area, "profiling permission", "", Verdict::good, ""};
  const auto& restricted = facts.driver.profiling_for_administrators;
  if (!restricted) {
    cupti.found = unreadable(restricted.why);
    cupti.verdict = Verdict::note;
  } else {
    cupti.found = *restricted ? "administrators only (NVreg_RestrictProfilingToAdminUsers=1)" : "everyone";
    if (*restricted && geteuid() != 0) {
      cupti.verdict = Verdict::bad;
      cupti.advice =
          "CUPTI would record no kernels: load the nvidia module with "
          "NVreg_RestrictProfilingToAdminUsers=0, or run as root";
    }
  }
  checks.push_back(cupti);
}

}  // namespace ddpprof::cli
