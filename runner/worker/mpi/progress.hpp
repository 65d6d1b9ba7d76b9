// Two threads for MPI. The first makes all calls to MPI: it starts them in the order of the requests, drives their
// progress and reports when each is done. The second ends the waiting if MPI does not answer.
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

// One call of MPI in progress.
class Call {
 public:
  virtual ~Call() = default;
  virtual const ddpprof_mpi_call& what() const = 0;
  virtual std::string describe() const = 0;  // "all-reduce of 4096 bytes"
  // Called on the thread that calls MPI, before the call is passed to MPI.
  virtual void begin() = 0;
  // Called once, on either thread. `failure` is empty if the call succeeded.
  virtual void end(const std::string& failure) = 0;
};

struct Place {
  int rank = 0, size = 0;
};

class Progress {
 public:
  // `timeout`: of each call, counted from its request, and of leave().
  Progress(const ddpprof_mpi_functions&, std::chrono::milliseconds timeout);
  // Without leave(), the destructor fails the calls in progress and does not wait for other ranks. If the thread is
  // inside MPI, it stays there, and the process must end by _exit.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Enters the job. Throws std::runtime_error if MPI reports an error or does not answer within `timeout`.
  Place enter(std::chrono::milliseconds timeout);
  // Requests a call. After the failure of any call, every later call fails with the same message.
  void ask(std::shared_ptr<Call>);
  // Fails the calls in progress, so that no thread waits for them.
  void abandon(const std::string& why);
  // Leaves the job together with the other ranks, after all requested calls are done. Waits for the other ranks at most
  // the timeout. Throws std::runtime_error if they do not come, or if any call failed before.
  void leave();

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>&);
  static void watch(const std::shared_ptr<Shared>&);

  std::shared_ptr<Shared> shared_;  // shared with the threads, which outlive this object if MPI never answers
  std::thread thread_, watch_;
};

}  // namespace ddpprof::worker::mpi
