#include "tracer/record/cupti/flusher.hpp"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace ddpprof::record {

struct CuptiFlusher::State {
  std::chrono::milliseconds period;
  std::function<void()> tick, last;
  std::mutex mutex;
  std::condition_variable changed;
  bool asked = false, done = false, given_up = false;

  void run() {
    std::unique_lock lock(mutex);
    while (!asked) {
      if (changed.wait_for(lock, period, [this] { return asked; })) break;
      lock.unlock();
      tick();
      lock.lock();
    }
    if (!given_up) {  // after finish() has given up, the process is ending
      lock.unlock();
      last();
      lock.lock();
    }
    done = true;
    changed.notify_all();
  }
};

CuptiFlusher::CuptiFlusher(std::chrono::milliseconds period, std::function<void()> tick, std::function<void()> last)
    : state_(std::make_shared<State>()) {
  state_->period = period;
  state_->tick = std::move(tick);
  state_->last = std::move(last);
  // This thread must not receive the program's signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto* argument = new std::shared_ptr<State>(state_);
  pthread_t thread{};
  const int failure = pthread_create(
      &thread, nullptr,
      [](void* given) -> void* {
        pthread_setname_np(pthread_self(), "ddpprof-cupti");
        const std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State>*>(given));
        (*state)->run();
        return nullptr;
      },
      argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0) {
    delete argument;
    state_.reset();
    return;
  }
  pthread_detach(thread);
}

CuptiFlusher::~CuptiFlusher() {
  if (state_ == nullptr) return;
  finish(std::chrono::hours(1));
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->done; });
}

bool CuptiFlusher::finish(std::chrono::milliseconds limit) {
  if (state_ == nullptr) return true;
  std::unique_lock lock(state_->mutex);
  if (state_->given_up) return true;
  state_->asked = true;
  state_->changed.notify_all();
  if (state_->changed.wait_for(lock, limit, [this] { return state_->done; })) return true;
  state_->given_up = true;
  return false;
}

}  // namespace ddpprof::record
