#include "runner/worker/data_parallel/replica_threads.hpp"

#include <stdexcept>
#include <string>

#include "runner/worker/annotate.hpp"
#include "runner/worker/memory/counting_allocator.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

struct ReplicaThreads::Shared {
  std::mutex mutex;
  std::condition_variable wake, done;
  std::function<void(int)> task;
  std::uint64_t round = 0;
  bool stop = false;
  std::vector<bool> running;
  std::vector<std::exception_ptr> errors;
  int left = 0;
};

ReplicaThreads::ReplicaThreads(int replicas, int intra_op_threads, std::chrono::milliseconds timeout)
    : shared_(std::make_shared<Shared>()), timeout_(timeout) {
  shared_->running.assign(static_cast<std::size_t>(replicas), false);
  shared_->errors.resize(static_cast<std::size_t>(replicas));
  for (int replica = 0; replica < replicas; ++replica) threads_.emplace_back(work, shared_, replica, intra_op_threads);
}

ReplicaThreads::~ReplicaThreads() {
  bool hung = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
    hung = shared_->left > 0;
  }
  shared_->wake.notify_all();
  for (auto& thread : threads_) hung ? thread.detach() : thread.join();
}

void ReplicaThreads::run(std::function<void(int)> task) {
  std::unique_lock lock(shared_->mutex);
  shared_->task = std::move(task);
  shared_->errors.assign(threads_.size(), nullptr);
  shared_->running.assign(threads_.size(), true);
  shared_->left = static_cast<int>(threads_.size());
  ++shared_->round;
  shared_->wake.notify_all();
  if (!shared_->done.wait_for(lock, timeout_, [&] { return shared_->left == 0; })) {
    std::string names;
    for (std::size_t i = 0; i < threads_.size(); ++i)
      if (shared_->running[i]) names += (names.empty() ? "" : ", ") + std::to_string(i);
    throw std::runtime_error("DataParallel: replica " + names + " not done within " + std::to_string(timeout_.count()) +
                             " ms (measure.timeout_s)");
  }
  for (const auto& error : shared_->errors)
    if (error) std::rethrow_exception(error);
}

void ReplicaThreads::work(const std::shared_ptr<Shared>& shared, int replica, int intra_op_threads) {
  annotate::name_thread(("replica " + std::to_string(replica)).c_str());
  at::set_num_threads(intra_op_threads);
  const memory::For own(replica);
  const auto self = static_cast<std::size_t>(replica);
  std::uint64_t seen = 0;
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->wake.wait(lock, [&] { return shared->stop || shared->round != seen; });
    if (shared->stop) return;
    seen = shared->round;
    const auto* task = &shared->task;  // replaced only after every thread has finished it
    lock.unlock();
    std::exception_ptr error;
    try {
      (*task)(replica);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    shared->errors[self] = error;
    shared->running[self] = false;
    if (--shared->left == 0) shared->done.notify_one();
  }
}

}  // namespace ddpprof::worker
