// A program with NVTX annotations. Each mode tests one part of the injected tracer.
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include "tests/tracer/annotated_bounds.hpp"
#include "tests/tracer/annotated_payloads.hpp"

namespace {

nvtxEventAttributes_t event_named(const char* text) {
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  return event;
}

int fail(const char* what) {
  std::fprintf(stderr, "unexpected: %s\n", what);
  return 1;
}

int every_entry_point() {
  nvtxInitialize(nullptr);
  nvtxNameOsThreadA(static_cast<uint32_t>(gettid()), "the main thread");
  nvtxNameOsThreadW(static_cast<uint32_t>(gettid()) + 1, L"another thread \u00e4");
  nvtxNameCategoryA(7, "category seven");
  nvtxNameCategoryW(8, L"category \u20ac");
  nvtxMarkA("mark A");
  nvtxMarkW(L"mark W \u00e4\u20ac\U0001F600");
  nvtxEventAttributes_t event = event_named("mark Ex");
  event.category = 7;
  nvtxMarkEx(&event);
  if (nvtxRangePushA("push A") != 0) return fail("level of the first push");
  if (nvtxRangePushW(L"push W") != 1) return fail("level of the second push");
  event = event_named("push Ex");
  if (nvtxRangePushEx(&event) != 2) return fail("level of the third push");
  if (nvtxRangePop() != 2 || nvtxRangePop() != 1 || nvtxRangePop() != 0) return fail("levels of the pops");
  if (nvtxRangePop() >= 0) return fail("a pop too many must be negative");
  const nvtxRangeId_t a = nvtxRangeStartA("start A"), w = nvtxRangeStartW(L"start W");
  event = event_named("start Ex");
  const nvtxRangeId_t ex = nvtxRangeStartEx(&event);
  if (a == 0 || w == 0 || ex == 0 || a == w || w == ex) return fail("range ids");
  std::thread([=] { nvtxRangeEnd(a); }).join();
  nvtxRangeEnd(w);
  nvtxRangeEnd(ex);

  nvtxDomainHandle_t domain = nvtxDomainCreateA("domain A"), wide = nvtxDomainCreateW(L"domain W");
  if (domain == nullptr || wide == nullptr || domain == wide) return fail("domain handles");
  nvtxDomainNameCategoryA(domain, 9, "category nine of A");
  nvtxDomainNameCategoryW(domain, 10, L"category ten of A");
  nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxStringHandle_t registered_wide = nvtxDomainRegisterStringW(domain, L"registered wide");
  event = event_named("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = registered;
  nvtxDomainMarkEx(domain, &event);
  if (nvtxDomainRangePushEx(domain, &event) != 0) return fail("level in a domain");
  if (nvtxDomainRangePushEx(wide, &event) != 0) return fail("domains nest on their own");
  if (nvtxDomainRangePop(domain) != 0 || nvtxDomainRangePop(wide) != 0) return fail("pop in a domain");
  event.message.registered = registered_wide;
  nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));
  event = event_named("");
  event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  event.message.unicode = L"unicode in a domain";
  nvtxDomainMarkEx(domain, &event);
  nvtxResourceAttributes_t resource = {};
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
  nvtxResourceHandle_t handle = nvtxDomainResourceCreate(domain, &resource);
  if (handle == nullptr) return fail("resource handle");
  nvtxDomainResourceDestroy(handle);
  nvtxDomainDestroy(wide);
  nvtxMarkA("after everything");
  return 0;
}

int numbers() {
  nvtxEventAttributes_t event = event_named("number");
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, event.payload.ullValue = UINT64_MAX;
  nvtxMarkEx(&event);
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64, event.payload.llValue = INT64_MIN;
  nvtxMarkEx(&event);
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE, event.payload.dValue = -1.5e300;
  nvtxMarkEx(&event);
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, event.payload.ullValue = UINT64_MAX,
  event.payload.uiValue = 4000000000u;
  nvtxMarkEx(&event);
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32, event.payload.ullValue = 0, event.payload.iValue = -5;
  nvtxMarkEx(&event);
  event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT, event.payload.ullValue = UINT64_MAX, event.payload.fValue = 0.25f;
  nvtxMarkEx(&event);
  event.payloadType = 99;
  nvtxMarkEx(&event);
  event.payloadType = NVTX_PAYLOAD_UNKNOWN;
  nvtxMarkEx(&event);
  return 0;
}

int threads(int count, int events) {
#ifdef __SANITIZE_THREAD__
  nvtxInitialize(nullptr);  // NVTX's first call accesses its table without atomics, so threads would race
#endif
  std::vector<std::thread> running;
  for (int t = 0; t < count; ++t) {
    running.emplace_back([=] {
      pthread_setname_np(pthread_self(), ("lane " + std::to_string(t)).c_str());
      nvtxEventAttributes_t event = event_named(nullptr);
      for (int i = 0; i < events; ++i) {
        const std::string name = "thread " + std::to_string(t) + " name " + std::to_string(i % 17);
        event.message.ascii = name.c_str();
        event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
        event.payload.llValue = i;
        nvtxRangePushEx(&event);
        nvtxRangePop();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  return 0;
}

int forked() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("before the fork");
  nvtxEventAttributes_t event = event_named("open in the parent");
  nvtxDomainRangePushEx(domain, &event);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();  // has no annotations and must not leave a shard
    if (grandchild == 0) _exit(0);
    waitpid(grandchild, nullptr, 0);
    event = event_named("in the child");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    if (nvtxDomainRangePop(domain) != 0) return fail("the parent's range in the child");
    std::thread([] { nvtxMarkA("on a thread of the child"); }).join();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  nvtxDomainRangePop(domain);
  nvtxMarkA("in the parent afterwards");
  return status;
}

// Annotates until it is killed. After each event it reports the number of events through a pipe.
int until_killed(int descriptor) {
  for (std::int64_t i = 0;; ++i) {
    nvtxEventAttributes_t event = event_named("counted");
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = i;
    nvtxMarkEx(&event);
    if (write(descriptor, &i, sizeof i) != sizeof i) return 1;
  }
}

int killed_after(long events) {
  for (long i = 0; i < events; ++i) nvtxMarkA("counted");
  kill(getpid(), SIGKILL);
  return 1;
}

int modules(const char* path) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("shared domain");
  nvtxEventAttributes_t event = event_named("marked by the program");
  nvtxDomainMarkEx(domain, &event);
  void* module = dlopen(path, RTLD_NOW);
  if (module == nullptr) return fail(dlerror());
  reinterpret_cast<void (*)()>(dlsym(module, "annotate_from_module"))();
  return 0;
}

// Simulates a full disk after the shard was opened: from here on files cannot grow.
int disk_full(int events) {
  nvtxMarkA("before");
  signal(SIGXFSZ, SIG_IGN);  // exceeding the limit then returns EFBIG; a full disk returns ENOSPC
  const rlimit limit{1'500'000, RLIM_INFINITY};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return fail("setrlimit");
  return threads(1, events);
}

// Limits the memory to 256 MiB, half of which the program uses.
int little_memory(int events) {
  const rlimit limit{256 << 20, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return fail("setrlimit");
  nvtxMarkA("before");
  const std::vector<char> own(128 << 20);
  return own.back() + threads(1, events);
}

// Calls the CUDA driver's injection function twice, and annotates.
int cuda_injection(const char* tracer) {
  void* library = dlopen(tracer, RTLD_NOW);
  if (library == nullptr) return fail(dlerror());
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize() != 1 || initialize() != 1) return fail("a refused injection would be the program's problem");
  nvtxMarkA("on the host");
  return 0;
}

void annotate_in_signal(int) { nvtxMarkA("in the handler"); }

// A timer interrupts the main thread while it annotates, and the handler annotates, too.
int signals() {
  nvtxMarkA("in the handler");  // a handler must not allocate: it uses a name that the thread has used before
  struct sigaction action = {};
  action.sa_handler = annotate_in_signal;
  sigaction(SIGPROF, &action, nullptr);
  itimerval timer = {{0, 500}, {0, 500}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  for (int i = 0; i < 400'000; ++i) {
    nvtxRangePushA("interrupted");
    nvtxRangePop();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return std::strtol(argc > i ? argv[i] : "0", nullptr, 10); };
  if (mode == "entry-points") return every_entry_point();
  if (mode == "numbers") return numbers();
  if (mode == "payloads") return ddpprof::test::annotate_payloads();
  if (mode == "threads") return threads(static_cast<int>(number(2)), static_cast<int>(number(3)));
  if (mode == "fork") return forked();
  if (mode == "bounds") return ddpprof::test::annotate_while_toggled();
  if (mode == "until-killed") return until_killed(static_cast<int>(number(2)));
  if (mode == "killed-after") return killed_after(number(2));
  if (mode == "modules") return modules(argv[2]);
  if (mode == "little-memory") return little_memory(static_cast<int>(number(2)));
  if (mode == "disk-full") return disk_full(static_cast<int>(number(2)));
  if (mode == "cuda") return cuda_injection(argv[2]);
  if (mode == "signals") return signals();
  return fail("mode");
}
