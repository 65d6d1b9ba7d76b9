// The connections between GPUs: NVLink, and the PCIe path between two devices.
#include <array>

#include "runner/host/nvml_library.hpp"

namespace ddpprof::host {
namespace {

constexpr unsigned most_links = 18, p2p_read = 0, p2p_nvlink = 2;

// nvmlNvlinkVersion_t, and the rate of a link in each direction. NVIDIA's NVLink page gives the sums of both directions
// over all links of a device (V100: 300 GB/s over 6, A100: 600 over 12, H100: 900 over 18, B200: 1800 over 18).
struct Generation {
  const char* name;
  double gb_per_s;
};
constexpr std::array<Generation, 8> generations = {
    {{"", 0}, {"1.0", 20}, {"2.0", 25}, {"2.2", 25}, {"3.0", 25}, {"3.1", 25}, {"4.0", 25}, {"5.0", 50}}};

bool reaches(const NvmlLibrary& nvml, NvmlDevice one, NvmlDevice other, unsigned how) {
  int status = -1;  // 0: the pair supports it
  return nvml.call<int(NvmlDevice, NvmlDevice, unsigned, int*)>("nvmlDeviceGetP2PStatus", one, other, how, &status) ==
             nvml_success &&
         status == 0;
}

// nvmlGpuTopologyLevel_t with the names of nvidia-smi topo -m.
std::string between(const NvmlLibrary& nvml, NvmlDevice one, NvmlDevice other) {
  if (reaches(nvml, one, other, p2p_nvlink)) return "NVLink";
  int level = -1;
  if (nvml.call<int(NvmlDevice, NvmlDevice, int*)>("nvmlDeviceGetTopologyCommonAncestor", one, other, &level) !=
      nvml_success)
    return "unknown";
  switch (level) {
    case 0:
      return "one board";
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "unknown";
  }
}

}  // namespace

void read_nvlink(const NvmlLibrary& nvml, NvmlDevice device, Gpu& gpu) {
  int active = 0;
  unsigned version = 0;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned state = 0;
    const int result =
        nvml.call<int(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", device, link, &state);
    if (result != nvml_success) {
      if (link > 0) break;  // the device has no more links
      gpu.nvlinks = nvml.unknown<int>("nvmlDeviceGetNvLinkState", result);
      gpu.nvlink_version = Reading<std::string>::unknown(gpu.nvlinks.why);
      gpu.nvlink_gb_per_s = Reading<double>::unknown(gpu.nvlinks.why);
      return;
    }
    if (state == 0) continue;
    if (active++ == 0)
      nvml.call<int(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetNvLinkVersion", device, link, &version);
  }
  gpu.nvlinks = Reading<int>::of(active);
  if (version == 0 || version >= generations.size()) {
    const std::string why = active == 0 ? "no NVLink is active" : "this NVML does not report the version of NVLink";
    gpu.nvlink_version = Reading<std::string>::unknown(why);
    gpu.nvlink_gb_per_s = Reading<double>::unknown(why);
    return;
  }
  gpu.nvlink_version = Reading<std::string>::of(generations[version].name);
  gpu.nvlink_gb_per_s = Reading<double>::of(active * generations[version].gb_per_s);
}

void read_pairs(const NvmlLibrary& nvml, const std::vector<NvmlDevice>& devices, std::vector<Gpu>& gpus) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      if (i != j && reaches(nvml, devices[i], devices[j], p2p_read)) gpus[i].peers.push_back(static_cast<int>(j));
      gpus[i].paths.push_back(i == j ? "" : between(nvml, devices[i], devices[j]));
    }
  }
}

}  // namespace ddpprof::host
