// Threads that begin together once it is known how many of them there are: a machine may start fewer than were wanted.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <thread>
#include <vector>

namespace ddpprof::import {

class Lanes {
 public:
  using Job = std::function<void(std::size_t lane, std::size_t lanes)>;  // throws nothing
  // Throws std::system_error where no thread can be started.
  using Start = std::function<std::thread(std::function<void()>)>;

  // As many as can be started of those that are wanted; they wait for run().
  Lanes(std::size_t wanted, Job job, const Start& start = {});
  ~Lanes();  // without run() they end without doing anything
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // At least 1: the caller's own thread, where none could be started.
  std::size_t count() const;
  // Until all are done. Once.
  void run();

 private:
  void release(std::size_t lanes);

  Job job_;
  std::promise<std::size_t> go_;  // how many lanes; 0: none is to run
  std::vector<std::thread> threads_;
  bool released_ = false;
};

}  // namespace ddpprof::import
