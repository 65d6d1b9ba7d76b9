// The tracer of the process: it is configured by the environment, survives fork(), and records until exit.
//
// DDPPROF_TRACE_DIR         the folder for the shard; unset: nothing is recorded
// DDPPROF_TRACE_MAX_MB      the shard's cap in MiB (default 1024)
// DDPPROF_CUPTI_TIMESTAMPS  callback or paired: the clock of CUPTI's times (cupti/timestamps.hpp)
// RANK, WORLD_SIZE, LOCAL_RANK as torchrun sets them, or the variables of Open MPI, MPICH or Slurm: stored in the
// shard's header
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tracer/record/recorder/gate.hpp"
#include "tracer/record/shard/names.hpp"
#include "tracer/record/shard/shard_file.hpp"
#include "tracer/record/shard/thread_log.hpp"

namespace ddpprof::record {

class Recorder {
 public:
  // Never destroyed, because threads may annotate while the process ends.
  static Recorder& instance();

  // The first call reads the environment and opens the shard. Returns true if the process is recorded; later calls
  // return the same. If the shard cannot be created, a message goes to standard error once, and the program runs
  // unrecorded.
  bool activate();

  // Returns the calling thread's log, and creates it at the first call. Returns nullptr if nothing is recorded.
  ThreadLog* attach_thread();

  Names& names() noexcept { return names_; }
  Gate& gate() noexcept { return gate_; }

  // Records a diagnostic of the process.
  void diagnose(trace::DiagnosticCode code, std::uint64_t count, const std::string& detail);
  void count_dropped_cupti(std::uint64_t records);

  // Records a name for thread `os_tid`, which may be the caller or another thread.
  void name_thread(ThreadLog& log, std::int64_t os_tid, std::uint32_t name_id);

  void mark_closed();  // marks a regular end of the process

 private:
  enum class State { untried, recording, off };

  bool open_shard();
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();
  void start_child_shard(ThreadLog& log);

  std::mutex lifecycle_;
  State state_ = State::untried;
  ShardOptions options_;
  std::unique_ptr<ShardFile> shard_;
  Names names_;
  Gate gate_;
  bool forked_ = false;                      // true in a child until its shard is opened
  std::int64_t forking_pid_ = 0;             // the nearest ancestor with a shard
  std::vector<ThreadLog::Depth> inherited_;  // ranges that the forking thread had open
  ThreadLog* left_behind_ = nullptr;         // the forking threads' logs
};

extern thread_local constinit ThreadLog* current_log;

// One call into the tracer. False if nothing is recorded, or if a signal handler interrupted the tracer itself.
class Entry {
 public:
  Entry() : log_(current_log) {
    if (log_ == nullptr) [[unlikely]]
      log_ = Recorder::instance().attach_thread();
    if (log_ == nullptr) [[unlikely]]
      return;
    if (log_->entered) [[unlikely]] {
      log_->shard().header().dropped_records.fetch_add(1, std::memory_order_relaxed);
      log_ = nullptr;
      return;
    }
    log_->entered = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Entry() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (log_ != nullptr) log_->entered = false;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  explicit operator bool() const noexcept { return log_ != nullptr; }
  ThreadLog& operator*() const noexcept { return *log_; }
  ThreadLog* operator->() const noexcept { return log_; }

 private:
  ThreadLog* log_;
};

}  // namespace ddpprof::record
