// Persistent threads, one per DataParallel replica, that run a task together and report its errors.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ddpprof::worker {

class ReplicaThreads {
 public:
  // Each thread computes with `intra_op_threads` intra-op threads.
  ReplicaThreads(int replicas, int intra_op_threads, std::chrono::milliseconds timeout);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // Runs task(replica) on the threads of all replicas at the same time. Rethrows the error with the lowest replica
  // number. Throws std::runtime_error if a task is not done within the timeout; then the object must not be used again.
  void run(std::function<void(int)> task);

 private:
  struct Shared;  // outlives a thread that hangs
  static void work(const std::shared_ptr<Shared>& shared, int replica, int intra_op_threads);

  std::shared_ptr<Shared> shared_;
  std::chrono::milliseconds timeout_;
  std::vector<std::thread> threads_;
};

}  // namespace ddpprof::worker
