// std::condition_variable::wait() for systems with the libstdc++ of GCC 11, which has another version of it. The
// linker's option --wrap calls this function instead. Compiled only into programs that use the system's libstdc++.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

// Waits for a notification, as libstdc++'s function does.
extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(std::condition_variable* variable,
                                                                                 std::unique_lock<std::mutex>* lock) {
  pthread_cond_wait(variable->native_handle(), lock->mutex()->native_handle());
}
