// A host with eight H100 as NVML describes it: NVSwitch between all devices, except the last, which has only PCIe
// because of a lost link.
#include <cstdio>

namespace {
constexpr unsigned count = 8, links = 18;
int devices[count];
unsigned index_of(void* device) { return static_cast<unsigned>(static_cast<int*>(device) - devices); }
bool is_last(void* device) { return index_of(device) == count - 1; }
constexpr int not_supported = 3;
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int) { return "Not Supported"; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = 12080, 0; }
int nvmlDeviceGetCount_v2(unsigned* number) { return *number = count, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { return *device = &devices[index], 0; }
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  return std::snprintf(name, length, "NVIDIA H100 80GB HBM3"), 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* info) {
  return info[0] = 80ULL << 30, info[1] = 79ULL << 30, info[2] = 1ULL << 30, 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) { return *current = *pending = 0, 0; }
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* state) {
  if (link >= links) return not_supported;
  return *state = is_last(device) ? 0 : 1, 0;
}
int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) { return *version = 6, 0; }  // 4.0
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) { return *value = 1, 0; }       // idle
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* value) { return *value = is_last(device) ? 8 : 16, 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) { return *value = 5, 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) { return *value = 16, 0; }
int nvmlDeviceGetClockInfo(void*, unsigned, unsigned* value) { return *value = 345, 0; }
int nvmlDeviceGetMaxClockInfo(void*, unsigned, unsigned* value) { return *value = 1980, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) { return *reasons = 1, 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* number, void*) { return *number = 0, 0; }
int nvmlDeviceGetPersistenceMode(void* device, unsigned* mode) { return *mode = is_last(device) ? 0 : 1, 0; }
int nvmlDeviceGetComputeMode(void* device, unsigned* mode) { return *mode = is_last(device) ? 3 : 0, 0; }
int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned counter, unsigned long long* errors) {
  return *errors = is_last(device) && type == 1 && counter == 0 ? 4 : 0, 0;
}
int nvmlDeviceGetP2PStatus(void* one, void* other, unsigned how, int* status) {
  constexpr unsigned nvlink = 2;
  return *status = how == nvlink && (is_last(one) || is_last(other)) ? 5 : 0, 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) { return *level = 50, 0; }
}
