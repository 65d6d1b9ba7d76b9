#include "runner/worker/mpi/progress.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <array>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ddpprof::worker::mpi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto watch_every = std::chrono::milliseconds(100);

// Waits for other ranks in three stages. A message within a host takes microseconds: so first the thread keeps the
// core. Then it yields, since ranks may share cores. Then it sleeps.
class Patience {
 public:
  void progressed() { since_ = Clock::now(); }
  void wait() const {
    const auto idle = Clock::now() - since_;
    if (idle < std::chrono::microseconds(30)) return;
    if (idle < std::chrono::milliseconds(1))
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  Clock::time_point since_ = Clock::now();
};

std::string in_seconds(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << std::chrono::duration<double>(time).count() << " s";
  return text.str();
}

}  // namespace

struct Progress::Shared {
  struct Asked {
    std::shared_ptr<Call> call;
    Clock::time_point deadline;
    std::uint64_t number;
    void* request = nullptr;
  };

  explicit Shared(const ddpprof_mpi_functions& table, std::chrono::milliseconds limit)
      : functions(table), timeout(limit) {}

  const ddpprof_mpi_functions& functions;
  const std::chrono::milliseconds timeout;

  std::mutex mutex;
  std::condition_variable asked, answered;
  std::deque<Asked> queue;      // not started
  std::deque<Asked> under_way;  // only the thread adds and removes
  std::uint64_t count = 0;
  std::string failure;
  bool entered = false, leaving = false, ended = false;
  Place place;

  bool failed() const { return !failure.empty(); }

  // The memory of calls in progress is never freed, since MPI may still write there.
  void fail(std::string why, std::unique_lock<std::mutex>& lock) {
    if (!failed()) failure = std::move(why);
    std::vector<std::shared_ptr<Call>> calls;
    for (const auto* asked_for : {&queue, &under_way})
      for (const Asked& one : *asked_for) calls.push_back(one.call);
    if (!under_way.empty()) new std::deque<Asked>(std::move(under_way));  // NOLINT: left on purpose
    queue.clear();
    under_way.clear();
    const std::string said = failure;
    answered.notify_all();
    asked.notify_all();
    lock.unlock();
    for (const auto& call : calls) call->end(said);
    lock.lock();
  }
};

Progress::Progress(const ddpprof_mpi_functions& functions, std::chrono::milliseconds timeout)
    : shared_(std::make_shared<Shared>(functions, timeout)) {}

Place Progress::enter(std::chrono::milliseconds timeout) {
  thread_ = std::thread(run, shared_);
  watch_ = std::thread(watch, shared_);
  std::unique_lock lock(shared_->mutex);
  shared_->answered.wait_for(lock, timeout, [this] { return shared_->entered || shared_->failed(); });
  if (!shared_->entered && !shared_->failed())
    shared_->fail("MPI did not start within " + in_seconds(timeout) + ": a rank is missing, or mpirun is gone", lock);
  if (shared_->failed()) throw std::runtime_error(shared_->failure);
  return shared_->place;
}

void Progress::ask(std::shared_ptr<Call> call) {
  std::unique_lock lock(shared_->mutex);
  if (shared_->failed() || shared_->leaving) {
    const std::string why = shared_->failed() ? shared_->failure : "the rank is leaving its MPI job";
    lock.unlock();
    call->end(why);
    return;
  }
  shared_->queue.push_back({std::move(call), Clock::now() + shared_->timeout, shared_->count++, nullptr});
  shared_->asked.notify_one();
}

void Progress::abandon(const std::string& why) {
  std::unique_lock lock(shared_->mutex);
  shared_->fail(why, lock);
}

void Progress::leave() {
  std::unique_lock lock(shared_->mutex);
  shared_->leaving = true;
  shared_->asked.notify_all();
  shared_->answered.wait_for(lock, shared_->timeout, [this] { return shared_->ended || shared_->failed(); });
  if (!shared_->ended && !shared_->failed())
    shared_->fail("the ranks did not leave their MPI job together within " + in_seconds(shared_->timeout) +
                      ": another rank is gone, stopped, or still at work",
                  lock);
  if (shared_->failed()) throw std::runtime_error(shared_->failure);
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  bool gone = false;
  {
    std::unique_lock lock(shared_->mutex);
    if (!shared_->ended) shared_->fail("this rank gave its MPI job up", lock);
    gone = shared_->answered.wait_for(lock, std::chrono::milliseconds(1000), [this] { return shared_->ended; });
  }
  if (watch_.joinable()) watch_.join();
  if (gone)
    thread_.join();
  else
    thread_.detach();
}

void Progress::run(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), "mpi progress");
  prctl(PR_SET_TIMERSLACK, 1000UL);  // ns, so that sleeps of 20 us last about 20 us
  std::array<char, 512> error{};
  Place place;
  const int entered = shared->functions.begin(&place.rank, &place.size, error.data(), error.size());
  std::unique_lock lock(shared->mutex);
  if (entered != 0) shared->fail("MPI did not start: " + std::string(error.data()), lock);
  shared->place = place;
  shared->entered = entered == 0 && !shared->failed();
  shared->answered.notify_all();

  Patience patience;
  while (!shared->failed()) {
    if (shared->queue.empty() && shared->under_way.empty()) {
      if (shared->leaving) break;
      shared->asked.wait(lock);
      patience.progressed();
      continue;
    }
    if (!shared->queue.empty()) {
      // Added to `under_way` before MPI has it, so that its memory is kept if the wait is given up.
      shared->under_way.push_back(std::move(shared->queue.front()));
      shared->queue.pop_front();
      const std::shared_ptr<Call> call = shared->under_way.back().call;
      lock.unlock();
      call->begin();
      void* request = nullptr;
      const int code = shared->functions.start(&call->what(), &request, error.data(), error.size());
      lock.lock();
      if (shared->failed()) break;
      if (code != 0)
        shared->fail("MPI refused " + call->describe() + ": " + error.data(), lock);
      else
        shared->under_way.back().request = request;
      patience.progressed();
      continue;
    }
    // Testing one call drives the progress of all. They are tested in order, since the oldest is usually done first.
    std::optional<std::string> refused;
    std::vector<std::shared_ptr<Call>> done;
    for (std::size_t i = 0; i < shared->under_way.size();) {
      void* request = shared->under_way[i].request;
      lock.unlock();
      int finished = 0;
      const int code = shared->functions.test(request, &finished, error.data(), error.size());
      lock.lock();
      if (shared->failed()) break;
      if (code != 0) {
        refused = "MPI failed in " + shared->under_way[i].call->describe() + ": " + error.data();
        break;
      }
      if (finished == 0) {
        ++i;
        continue;
      }
      done.push_back(std::move(shared->under_way[i].call));
      shared->under_way.erase(shared->under_way.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (!done.empty()) patience.progressed();
    const bool asked = !shared->queue.empty();
    lock.unlock();
    for (const auto& call : done) call->end("");
    if (done.empty() && !refused && !asked) patience.wait();
    done.clear();
    lock.lock();
    if (refused) shared->fail(*refused, lock);
  }
  if (!shared->failed()) {
    lock.unlock();
    const int code = shared->functions.end(error.data(), error.size());
    lock.lock();
    if (code != 0) shared->fail("MPI did not end: " + std::string(error.data()), lock);
  }
  shared->ended = true;
  shared->answered.notify_all();
}

// Runs on a separate thread, since the other thread may never return from MPI.
void Progress::watch(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), "mpi deadlines");
  std::unique_lock lock(shared->mutex);
  while (!shared->ended && !shared->failed()) {
    shared->answered.wait_for(lock, watch_every);
    const auto now = Clock::now();
    for (const auto* calls : {&shared->under_way, &shared->queue}) {
      if (calls->empty() || calls->front().deadline > now || shared->failed()) continue;
      const auto& late = calls->front();
      shared->fail(late.call->describe() + " (number " + std::to_string(late.number) +
                       " of this rank) did not end within " + in_seconds(shared->timeout) +
                       ": another rank is gone, stopped, or did not ask for it; MPI cannot go on without it",
                   lock);
    }
  }
}

}  // namespace ddpprof::worker::mpi
