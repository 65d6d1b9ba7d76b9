// Preloaded library that changes the clock of a running program: CLOCK_REALTIME jumps by DDPPROF_TEST_STEP_S seconds
// when the file DDPPROF_TEST_STEP_FILE exists, in every process except the rank in DDPPROF_TEST_STEP_NOT_RANK. The
// machine's clock does not change, since other programs use it. Waits that started before the jump are not affected.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
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
  static const auto next = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, now);
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

// Converts a deadline of the changed clock to the kernel's clock. Deadlines of CLOCK_MONOTONIC count from the machine's
// start and are much smaller, so they are recognised and not changed.
extern "C" int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static const auto next = real<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait");
  constexpr time_t year_2000 = 946'684'800;
  timespec kernels = *until;
  if (kernels.tv_sec > year_2000) kernels.tv_sec -= shift_s();
  return next(condition, mutex, &kernels);
}
