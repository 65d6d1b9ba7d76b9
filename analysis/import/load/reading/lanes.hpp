// Threads that begin to work together after their number is known: a machine may start fewer threads than wanted.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <thread>
#include <vector>

namespace ddpprof::import {

class Lanes {
 public:
  using Job = std::function<void(std::size_t lane, std::size_t lanes)>;  // must not throw
  // Throws std::system_error if no thread can be started.
  using Start = std::function<std::thread(std::function<void()>)>;

  // Starts up to `wanted` threads, as many as the system allows. They wait for run().
  Lanes(std::size_t wanted, Job job, const Start& start = {});
  ~Lanes();  // without run() the threads end without running the job
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Returns the number of lanes. At least 1: if no thread could be started, the job runs in the caller's thread.
  std::size_t count() const;
  // Runs the job in all lanes and waits until all are done. Call it once.
  void run();

 private:
  void release(std::size_t lanes);

  Job job_;
  std::promise<std::size_t> go_;  // the number of lanes; 0: end without running the job
  std::vector<std::thread> threads_;
  bool released_ = false;
};

}  // namespace ddpprof::import
