// A fake libcupti.so with the functions that the tracer uses. It requests a buffer when a record needs one and delivers
// it when it is full or flushed. The profiler that registered callbacks last gets the buffers. A queue counts the
// records for which no buffer was available.
//
// FAKE_CUPTI_VERSION  result of cuptiGetVersion
// FAKE_CUPTI_REFUSES  error code of enabling an activity
// FAKE_CUPTI_GROWS    bytes by which each record is longer than in this build's header
// FAKE_CUPTI_HANGS    a forced flush does not return
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "tests/tracer/fake_gpu/driver.hpp"

namespace {

using ddpprof::test::Launch;

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

struct State {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc clock = nullptr;
  std::set<int> kinds, driver_calls, disabled_runtime_calls;
  std::uint8_t* buffer = nullptr;
  std::size_t capacity = 0, used = 0, dropped = 0;
};
State& state() {
  static State* const one = new State;  // never destroyed: threads may call while the process ends
  return *one;
}

std::uint64_t now() {
  State& cupti = state();
  if (cupti.clock != nullptr) return cupti.clock();
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::size_t size_of(CUpti_ActivityKind kind) {
  const auto grown = static_cast<std::size_t>(number("FAKE_CUPTI_GROWS", 0));
  return grown +
         (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? sizeof(CUpti_ActivityKernel8) : sizeof(CUpti_ActivityAPI));
}

// Delivers the current buffer to the profiler that registered last.
void hand_over() {
  State& cupti = state();
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::uint8_t* buffer = nullptr;
  std::size_t capacity = 0, used = 0;
  {
    const std::lock_guard lock(cupti.mutex);
    buffer = std::exchange(cupti.buffer, nullptr);
    capacity = cupti.capacity, used = std::exchange(cupti.used, 0), complete = cupti.complete;
  }
  if (buffer != nullptr) complete(nullptr, 0, buffer, capacity, used);
}

template <typename Record>
void append(const Record& record, CUpti_ActivityKind kind) {
  State& cupti = state();
  const std::size_t size = size_of(kind);
  bool full = false;
  {
    const std::lock_guard lock(cupti.mutex);
    full = cupti.buffer != nullptr && cupti.used + size > cupti.capacity;
  }
  if (full) hand_over();
  const std::lock_guard lock(cupti.mutex);
  if (cupti.buffer == nullptr && cupti.request != nullptr) {
    std::size_t most = 0;
    cupti.request(&cupti.buffer, &cupti.capacity, &most);
    cupti.used = 0;
  }
  if (cupti.buffer == nullptr) {
    ++cupti.dropped;
    return;
  }
  std::memset(cupti.buffer + cupti.used, 0x5a, size);  // the additional fields of a later header are not zero
  std::memcpy(cupti.buffer + cupti.used, &record, sizeof record);
  cupti.used += size;
}

void called(std::uint32_t cbid) {
  {
    const std::lock_guard lock(state().mutex);
    if (!state().driver_calls.contains(static_cast<int>(cbid))) return;
  }
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  call.cbid = cbid;
  call.start = call.end = now();
  call.threadId = static_cast<std::uint32_t>(gettid());
  append(call, call.kind);
}

bool records_runtime_call(std::uint32_t cbid) {
  const std::lock_guard lock(state().mutex);
  return !state().disabled_runtime_calls.contains(static_cast<int>(cbid));
}

void launched(const Launch& launch) {
  const std::uint64_t time = now();
  {
    const std::lock_guard lock(state().mutex);
    if (!state().kinds.contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  }
  if (launch.cbid != 0 && records_runtime_call(launch.cbid)) {
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = launch.cbid;
    call.start = time, call.end = time + 1000;
    call.correlationId = launch.correlation;
    call.threadId = static_cast<std::uint32_t>(gettid());
    append(call, call.kind);
  }
  if (launch.name == nullptr) return;
  CUpti_ActivityKernel8 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = time + 2000, kernel.end = time + 12'000;
  kernel.deviceId = launch.device, kernel.contextId = launch.context, kernel.streamId = launch.stream;
  kernel.correlationId = launch.correlation, kernel.graphNodeId = launch.graph_node;
  kernel.gridX = kernel.gridY = kernel.gridZ = kernel.blockX = kernel.blockY = kernel.blockZ = 1;
  kernel.name = launch.name;
  append(kernel, kernel.kind);
}

constexpr ddpprof::test::Hooks hooks{launched, called};
const int hooked = [] {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  reinterpret_cast<decltype(fakeDriverHook)*>(dlsym(driver, "fakeDriverHook"))(&hooks);
  return 1;
}();

}  // namespace

#define FAKE_CUPTI extern "C" __attribute__((visibility("default"))) CUptiResult

FAKE_CUPTI cuptiGetVersion(std::uint32_t* version) {
  *version = static_cast<std::uint32_t>(number("FAKE_CUPTI_VERSION", 130001));
  return CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiGetTimestamp(std::uint64_t* timestamp) { return *timestamp = now(), CUPTI_SUCCESS; }
FAKE_CUPTI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                          CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(state().mutex);
  state().request = request, state().complete = complete;
  return CUPTI_SUCCESS;
}
#ifndef FAKE_CUPTI_WITHOUT
FAKE_CUPTI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  return state().clock = clock, CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
FAKE_CUPTI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, std::uint8_t enable) {
  const std::lock_guard lock(state().mutex);
  if (enable != 0)
    state().driver_calls.insert(static_cast<int>(cbid));
  else
    state().driver_calls.erase(static_cast<int>(cbid));
  return CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, std::uint8_t enable) {
  const std::lock_guard lock(state().mutex);
  if (enable != 0)
    state().disabled_runtime_calls.erase(static_cast<int>(cbid));
  else
    state().disabled_runtime_calls.insert(static_cast<int>(cbid));
  return CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiGetResultString(CUptiResult result, const char** text) {
  static thread_local char words[32];
  std::snprintf(words, sizeof words, "FAKE_ERROR_%d", static_cast<int>(result));
  return *text = words, CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  const std::lock_guard lock(state().mutex);
  return *dropped = std::exchange(state().dropped, 0), CUPTI_SUCCESS;
}
#endif
FAKE_CUPTI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (const long code = number("FAKE_CUPTI_REFUSES", 0); code != 0) return static_cast<CUptiResult>(code);
  const std::lock_guard lock(state().mutex);
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) state().disabled_runtime_calls.clear();  // it enables all of its calls
  return state().kinds.insert(kind), CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(kind);
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) state().driver_calls.clear();
  return CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiActivityFlushAll(std::uint32_t flag) {
  if (flag != 0 && number("FAKE_CUPTI_HANGS", 0) != 0)
    for (;;) pause();
  hand_over();
  return CUPTI_SUCCESS;
}
FAKE_CUPTI cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  const std::size_t at =
      *record == nullptr
          ? 0
          : static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer) + size_of((*record)->kind);
  if (at >= valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  return *record = reinterpret_cast<CUpti_Activity*>(buffer + at), CUPTI_SUCCESS;
}
