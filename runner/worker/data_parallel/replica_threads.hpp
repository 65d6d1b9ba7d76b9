// Persistent threads, one a DataParallel replica, that run a task together and report its errors.
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
  // Each thread computes with `intra_op_threads` threads of its own.
  ReplicaThreads(int replicas, int intra_op_threads, std::chrono::milliseconds timeout);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // Runs task(replica) on every replica's thread at the same time; rethrows the first error by replica number.
  // Throws std::runtime_error when one is not done within the timeout; the object is then only good to be destroyed.
  void run(std::function<void(int)> task);

 private:
  struct Shared;  // outlives a thread that hangs
  static void work(const std::shared_ptr<Shared>& shared, int replica, int intra_op_threads);

  std::shared_ptr<Shared> shared_;
  std::chrono::milliseconds timeout_;
  std::vector<std::thread> threads_;
};

}  // namespace ddpprof::worker
