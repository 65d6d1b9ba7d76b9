#include "runner/worker/status.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "runner/worker/annotate.hpp"

namespace ddpprof::worker::status {
namespace {
launcher::StatusPage own_page{};
launcher::StatusPage* page = &own_page;
}  // namespace

void open() {
  own_page.step = -1;
  const char* path = std::getenv(launcher::status_file_variable);
  if (path && *path) {
    const auto fail = [&](const char* what) {
      throw std::runtime_error(std::string("status page ") + path + ": " + what + ": " + std::strerror(errno) +
                               "; expected a file of one page that the launcher made, named in " +
                               launcher::status_file_variable);
    };
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) fail("cannot open");
    struct stat info {};
    if (fstat(file, &info) != 0 ||
        (info.st_size < launcher::status_page_bytes && ftruncate(file, launcher::status_page_bytes) != 0)) {
      ::close(file);
      fail("cannot size");
    }
    void* memory = mmap(nullptr, launcher::status_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) fail("cannot map");
    page = static_cast<launcher::StatusPage*>(memory);
    page->step.store(-1, std::memory_order_relaxed);
  }
  set(Activity::starting);
}

bool watched() { return page != &own_page; }

void set(Activity activity) {
  page->activity.store(static_cast<std::int32_t>(activity), std::memory_order_relaxed);
  page->updated_ns.store(monotonic_ns(), std::memory_order_relaxed);
}

void set(Activity activity, std::int64_t step) {
  page->step.store(step, std::memory_order_relaxed);
  set(activity);
}

void set_steps_planned(std::int64_t steps) { page->steps_planned.store(steps, std::memory_order_relaxed); }

Activity activity() { return static_cast<Activity>(page->activity.load(std::memory_order_relaxed)); }
std::int64_t step() { return page->step.load(std::memory_order_relaxed); }

}  // namespace ddpprof::worker::status
