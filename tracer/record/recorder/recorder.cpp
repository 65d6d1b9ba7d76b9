#include "tracer/record/recorder/recorder.hpp"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {

thread_local constinit ThreadLog* current_log = nullptr;

namespace {

constexpr std::uint64_t default_max_mib = 1024;
constexpr std::uint64_t largest_max_mib = trace::largest_cap_mib;

thread_local constinit bool attaching = false;
pthread_key_t log_key;

// Destructors of pthread keys run after those of thread_local objects, so annotations in the latter are still recorded.
void end_thread(void* log) {
  current_log = nullptr;
  delete static_cast<ThreadLog*>(log);
}

std::uint64_t max_bytes_from_environment() {
  const char* text = std::getenv("DDPPROF_TRACE_MAX_MB");
  if (text == nullptr || *text == '\0') return default_max_mib << 20;
  char* end = nullptr;
  errno = 0;
  const unsigned long long mib = std::strtoull(text, &end, 10);
  if (errno != 0 || *end != '\0' || *text == '-' || mib == 0 || mib > largest_max_mib) {
    std::fprintf(stderr,
                 "ddpprof tracer: DDPPROF_TRACE_MAX_MB=\"%s\": expected MiB, a whole number from 1 to %llu; "
                 "using %llu\n",
                 text, static_cast<unsigned long long>(largest_max_mib),
                 static_cast<unsigned long long>(default_max_mib));
    return default_max_mib << 20;
  }
  return mib << 20;
}

struct NameRecord {
  trace::RecordHeader header;
};

struct KeepErrno {
  int value = errno;
  ~KeepErrno() { errno = value; }
};

}  // namespace

Recorder& Recorder::instance() {
  static Recorder* const recorder = new Recorder;
  return *recorder;
}

bool Recorder::activate() {
  const KeepErrno keep_errno;
  const std::lock_guard lock(lifecycle_);
  if (state_ != State::untried) return state_ == State::recording;
  state_ = State::off;
  const char* directory = std::getenv("DDPPROF_TRACE_DIR");
  if (directory == nullptr || *directory == '\0') return false;
  options_ = {directory, max_bytes_from_environment()};
  gate_.open(options_.directory);
  if (!open_shard()) return false;
  if (pthread_key_create(&log_key, end_thread) != 0) {
    std::fprintf(stderr,
                 "ddpprof tracer: pthread_key_create failed: the process has no thread-specific key left. Nothing is "
                 "recorded.\n");
    unlink(shard_->path().c_str());
    shard_.reset();
    return false;
  }
  pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork_in_parent(); },
                 [] { instance().after_fork_in_child(); });
  state_ = State::recording;
  return true;
}

bool Recorder::open_shard() {
  std::string error;
  shard_ = ShardFile::create(options_, error);
  if (shard_ != nullptr) {
    gate_.describe(shard_->header().bounds);
    return true;
  }
  std::fprintf(
      stderr,
      "ddpprof tracer: %s. Process %d runs on without being recorded. Set DDPPROF_TRACE_DIR to a writable folder "
      "with free space.\n",
      error.c_str(), static_cast<int>(getpid()));
  return false;
}

ThreadLog* Recorder::attach_thread() {
  if (attaching) return nullptr;  // a signal handler interrupted the lines below
  const KeepErrno keep_errno;
  attaching = true;
  ThreadLog* log = nullptr;
  {
    const std::lock_guard lock(lifecycle_);
    const bool was_forked = forked_;
    if (state_ == State::recording && forked_) {
      forked_ = false;
      if (!open_shard())
        state_ = State::off;
      else
        shard_->header().parent_pid = forking_pid_;  // the parent may have ended meanwhile, or this is a grandchild
    }
    if (state_ == State::recording) {
      log = new ThreadLog(*shard_, gettid());
      pthread_setspecific(log_key, log);
      current_log = log;
      log->entered = true;
      if (was_forked) start_child_shard(*log);
      if (gettid() == getpid() && !inherited_.empty()) log->depths() = std::move(inherited_);
      char name[16] = {};  // the kernel's limit, terminator included
      if (prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, shard_->header().process) != 0) {
        name_thread(*log, log->os_tid(), names_.intern(*log, name));
      }
      log->entered = false;
    }
  }
  attaching = false;
  return log;
}

void Recorder::start_child_shard(ThreadLog& log) {
  std::uint64_t open_ranges = 0;
  for (const ThreadLog::Depth& depth : inherited_) open_ranges += static_cast<std::uint64_t>(depth.inherited);
  names_.write_all(log);
  const std::string detail = "forked from process " + std::to_string(forking_pid_) + " with " +
                             std::to_string(open_ranges) + " of its ranges open";
  write_diagnostic(log, trace::DiagnosticCode::forked, 1, names_.intern(log, detail), monotonic_ns());
}

void Recorder::diagnose(trace::DiagnosticCode code, std::uint64_t count, const std::string& detail) {
  if (!activate()) return;
  const Entry entry;
  if (entry) write_diagnostic(*entry, code, count, names_.intern(*entry, detail), monotonic_ns());
}

void Recorder::count_dropped_cupti(std::uint64_t records) {
  const std::lock_guard lock(lifecycle_);
  if (shard_ != nullptr) shard_->header().dropped_cupti_records.fetch_add(records, std::memory_order_relaxed);
}

void Recorder::name_thread(ThreadLog& log, std::int64_t os_tid, std::uint32_t name_id) {
  if (os_tid != log.os_tid()) {  // a chunk's header has one thread, so another thread's name needs its own chunk
    ThreadLog other(log.shard(), os_tid);
    write_record(other, trace::RecordType::thread_name, name_id, monotonic_ns(), NameRecord{});
    return;
  }
  write_record(log, trace::RecordType::thread_name, name_id, monotonic_ns(), NameRecord{});
}

void Recorder::mark_closed() {
  if (gate_.bounded() && current_log != nullptr) {
    const Entry entry;
    if (entry) gate_.settle_at(*entry, monotonic_ns());
  }
  const std::lock_guard lock(lifecycle_);
  if (shard_ == nullptr) return;
  shard_->header().closed_monotonic_ns.store(monotonic_ns(), std::memory_order_relaxed);
  shard_->header().closed.store(1, std::memory_order_release);
}

// Takes the locks in their nesting order, so that the child does not inherit unfinished work of another thread.
void Recorder::before_fork() {
  lifecycle_.lock();
  gate_.lock();
  names_.lock();
  if (shard_ == nullptr) return;
  forking_pid_ = getpid();
  shard_->lock_growth();
}

void Recorder::after_fork_in_parent() {
  if (shard_ != nullptr) shard_->unlock_growth();
  names_.unlock();
  gate_.unlock();
  lifecycle_.unlock();
}

// The child opens its shard at its first event, because most children only exec another program.
void Recorder::after_fork_in_child() {
  if (shard_ != nullptr) {
    shard_->unlock_growth();
    shard_.reset();
  }
  forked_ = state_ == State::recording;
  if (current_log != nullptr) {
    inherited_ = current_log->depths();
    for (ThreadLog::Depth& depth : inherited_)  // these ranges are not open in the child's shard
      depth = {.inherited = depth.open + depth.inherited, .left_out = {}};
    pthread_setspecific(log_key, nullptr);
    // The log is kept and stays reachable: freeing it is not safe in every forked child.
    current_log->left_behind = left_behind_;
    left_behind_ = std::exchange(current_log, nullptr);
  }
  names_.unlock();
  gate_.after_fork_in_child();
  gate_.unlock();
  lifecycle_.unlock();
}

}  // namespace ddpprof::record
