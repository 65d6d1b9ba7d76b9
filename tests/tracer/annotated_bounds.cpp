#include "tests/tracer/annotated_bounds.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <nvtx3/nvToolsExt.h>
#include "tracer/format/control_page.hpp"

namespace ddpprof::test {
namespace {

int fail(const char* what) {
  std::fprintf(stderr, "unexpected: %s\n", what);
  return 1;
}

// Switches recording on or off like `ddpprof record`, and waits until the toggle is in effect.
void toggle_recording() {
  static trace::ControlPage* const page = [] {
    const std::string path = std::string(std::getenv("DDPPROF_TRACE_DIR")) + "/bounds.ddpc";
    const int file = open(path.c_str(), O_RDWR);
    return static_cast<trace::ControlPage*>(mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  }();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint32_t count = page->toggle_count;
  page->toggles_ns[count] = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + trace::control_notice_ns;
  page->toggle_count = count + 1;
  usleep(20'000);
}

}  // namespace

int annotate_while_toggled() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("made while off");
  nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered while off");
  nvtxDomainNameCategoryA(domain, 9, "named while off");
  if (nvtxRangePushA("off 0") != 0 || nvtxRangePushA("off 1") != 1) return fail("levels while off");
  nvtxMarkA("off mark");
  const nvtxRangeId_t off = nvtxRangeStartA("off start");
  if (off == 0) return fail("id of a range while off");
  toggle_recording();
  if (nvtxRangePushA("on 2") != 2) return fail("level after it went on");
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = registered;
  event.category = 9;
  nvtxDomainMarkEx(domain, &event);
  if (nvtxRangePushA("on 3") != 3) return fail("level while on");
  const nvtxRangeId_t on = nvtxRangeStartA("on start");
  std::thread([=] { nvtxRangeEnd(off); }).join();
  toggle_recording();
  if (nvtxRangePushA("off 4") != 4) return fail("level after it went off");
  if (nvtxDomainRangePushEx(domain, &event) != 0) return fail("level of the domain");
  if (nvtxRangePop() != 4 || nvtxRangePop() != 3) return fail("levels of pops while off");
  nvtxRangeEnd(on);
  if (nvtxRangePushA("off 3") != 3) return fail("level on top of a kept one");
  const pid_t child = fork();
  if (child == 0) {
    if (nvtxRangePushA("child off") != 4) return fail("level in the child");
    toggle_recording();
    if (nvtxRangePushA("child on") != 5) return fail("level in the child, on");
    if (nvtxRangePop() != 5 || nvtxRangePop() != 4) return fail("pops in the child");
    for (int level = 3; level >= 0; --level)
      if (nvtxRangePop() != level) return fail("pops of the parent's in the child");
    return 0;
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return fail("the child");
  if (nvtxRangePop() != 3 || nvtxRangePop() != 2) return fail("levels of pops while on again");
  if (nvtxRangePushA("on 2 again") != 2 || nvtxRangePop() != 2) return fail("level of a range of its own");
  if (nvtxDomainRangePop(domain) != 0) return fail("pop in the domain");
  if (nvtxRangePop() != 1 || nvtxRangePop() != 0) return fail("levels of the first ranges");
  if (nvtxRangePop() >= 0) return fail("a pop too many must be negative");
  return 0;
}

}  // namespace ddpprof::test
