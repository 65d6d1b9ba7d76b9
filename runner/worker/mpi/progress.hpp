// The one thread that calls MPI: starts calls in the order they were asked for, moves them on and tells when each is
// done; and a second one that ends the waiting when MPI does not answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runner/worker/mpi/interface.h"

namespace ddpprof::worker::mpi {

// One call on its way.
class Call {
 public:
  virtual ~Call() = default;
  virtual const ddpprof_mpi_call& what() const = 0;
  virtual std::string describe() const = 0;  // "all-reduce of 4096 bytes"
  // On the thread that calls MPI, before MPI has it.
  virtual void begin() = 0;
  // Once, whoever ends it; `failure` is empty where it is done.
  virtual void end(const std::string& failure) = 0;
};

struct Place {
  int rank = 0, size = 0;
};

class Progress {
 public:
  // `timeout` of each call, from when it was asked for, and of leaving the job.
  Progress(const ddpprof_mpi_functions&, std::chrono::milliseconds timeout);
  // Without leave() it fails what is under way and never waits for other ranks: the thread stays inside of MPI if it is
  // there, and the process has to end by _exit.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Enters the job. Throws std::runtime_error when MPI refuses or does not answer within `timeout`.
  Place enter(std::chrono::milliseconds timeout);
  // After a failure of any call every later one fails with its message.
  void ask(std::shared_ptr<Call>);
  // Fails what is under way: nobody waits any more.
  void abandon(const std::string& why);
  // Leaves the job once what was asked for is done, together with the other ranks, for which it waits for at most the
  // timeout. Throws std::runtime_error when they do not come, or when anything has failed before.
  void leave();

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>&);
  static void watch(const std::shared_ptr<Shared>&);

  std::shared_ptr<Shared> shared_;  // also of the threads, which outlive this object where MPI never answers
  std::thread thread_, watch_;
};

}  // namespace ddpprof::worker::mpi
