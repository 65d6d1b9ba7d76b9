// A clock that is set while a program runs: preloaded, CLOCK_REALTIME jumps by DDPPROF_TEST_STEP_S seconds once the
// file DDPPROF_TEST_STEP_FILE is there, for every process but the rank in DDPPROF_TEST_STEP_NOT_RANK.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

using ClockGettime = int (*)(clockid_t, timespec*);

ClockGettime real_clock() {
  static const auto real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real;
}

time_t shift_s() {
  static const time_t wanted = [] {
    const char* seconds = std::getenv("DDPPROF_TEST_STEP_S");
    const char *rank = std::getenv("RANK"), *spared = std::getenv("DDPPROF_TEST_STEP_NOT_RANK");
    const bool spare = rank != nullptr && spared != nullptr && std::strcmp(rank, spared) == 0;
    return seconds == nullptr || spare ? time_t{0} : static_cast<time_t>(std::atoll(seconds));
  }();
  static const char* const file = std::getenv("DDPPROF_TEST_STEP_FILE");
  static std::atomic<bool> stepped{false};
  if (wanted == 0 || file == nullptr) return 0;
  if (!stepped.load(std::memory_order_relaxed) && access(file, F_OK) == 0) stepped = true;
  return stepped.load(std::memory_order_relaxed) ? wanted : 0;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) {
  const int result = real_clock()(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += shift_s();
  return result;
}

extern "C" int gettimeofday(timeval* now, void*) {
  timespec precise{};
  const int result = clock_gettime(CLOCK_REALTIME, &precise);
  if (result == 0) *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return result;
}

extern "C" time_t time(time_t* out) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
