// Two devices as NVML describes them: the first with all values, warm and in use; the second in MIG mode without other
// values.
#include <cstdio>
#include <cstring>

namespace {
int devices[2];
int index_of(void* device) { return device == &devices[0] ? 0 : 1; }
constexpr int not_supported = 3;
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int result) { return result == not_supported ? "Not Supported" : "Unknown Error"; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) { return *version = 12040, 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { return *device = &devices[index], 0; }
int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  return std::snprintf(name, length, "GPU %c", 'A' + index_of(device)), 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* info) {
  if (index_of(device) == 1) return not_supported;
  info[0] = 80ULL << 30, info[1] = 79ULL << 30, info[2] = 1ULL << 30;
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  return *current = *pending = static_cast<unsigned>(index_of(device)), 0;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* state) {
  if (index_of(device) == 1 || link >= 4) return not_supported;
  return *state = link < 3 ? 1 : 0, 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) { return *value = 4, 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) { return *value = 16, 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) { return *value = 5, 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) { return *value = 16, 0; }
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* value) { return *value = type == 1 ? 1500 : 1, 0; }
int nvmlDeviceGetMaxClockInfo(void*, unsigned type, unsigned* value) { return *value = type == 1 ? 1980 : 1, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return *reasons = index_of(device) == 0 ? 0x1 | 0x4 | 0x40 : 0x1, 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void*) {
  if (index_of(device) == 1) return *count = 0, 0;
  return *count = 2, 7;  // NVML_ERROR_INSUFFICIENT_SIZE, with the needed number
}
int nvmlDeviceGetP2PStatus(void* one, void* other, unsigned, int* status) {
  return *status = one == &devices[0] && other == &devices[1] ? 0 : 4, 0;
}
}
