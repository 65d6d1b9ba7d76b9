// What is kept of a process: the bounds that `ddpprof record` was given (format/control_page.hpp), obeyed at each
// event.
//
// An event is kept when the time it begins at lies in a window. Recording windows come from the page's toggles and,
// where steps were asked for, from the process's own step ranges; what is kept is what both let through.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/format/control_page.hpp"
#include "tracer/format/shard_format.hpp"
#include "tracer/record/shard/thread_log.hpp"

namespace ddpprof::record {

struct RecordingWindow {
  std::int64_t on_ns = INT64_MIN;
  std::int64_t off_ns = INT64_MAX;  // INT64_MAX: it goes on
};
bool in_windows(const std::vector<RecordingWindow>&, std::int64_t time_ns);

// All that an event looks at: one that begins before this time is kept. INT64_MAX where nothing is bounded, INT64_MIN
// while the gate must be asked.
inline constinit std::atomic<std::int64_t> kept_until_ns{INT64_MAX};

// A loop of steps: the ranges of one pattern on one thread.
struct StepLoop {
  std::int64_t tid = 0;
  std::string pattern;
  bool numbered = false;
  bool counted = false;    // numbers began anew, as in each epoch: from there on it is counted
  std::int64_t last = -1;  // number that was given last
};

class Gate {
 public:
  // At the process's first event, before any other call. Without a page in `folder` everything is kept; one that cannot
  // be read is told on standard error, and everything is kept.
  void open(const std::string& folder);
  bool bounded() const noexcept { return page_ != nullptr; }

  // Into a fresh shard, whose counters the gate keeps from then on.
  void describe(trace::ShardBounds& bounds);

  // Whether an event that begins at `time_ns`, and is no step's beginning, is kept; counted when it is not.
  bool admits(ThreadLog& log, std::int64_t time_ns);

  bool watches_steps() const noexcept { return watching_.load(std::memory_order_relaxed); }
  struct Beginning {
    bool kept = true;
    StepLoop* loop = nullptr;  // none: not a step
    std::int64_t number = 0;
    std::int64_t time_ns = 0;  // of a step: when it begins, and the window with it
  };
  // A range called `name` begins on the log's thread; its name is of no account once steps are not watched any more.
  Beginning range_begins(ThreadLog& log, std::string_view name, std::int64_t time_ns);
  void step_ends(ThreadLog& log, const StepLoop* loop, std::int64_t number, std::int64_t time_ns);

  // Steps that are start/end ranges: which end is whose.
  void remember_step_range(std::uint64_t range_id, StepLoop* loop, std::int64_t number);
  void step_range_ends(ThreadLog& log, std::uint64_t range_id, std::int64_t time_ns);

  // All windows until now: for records that come later than what they tell of.
  std::vector<RecordingWindow> windows(ThreadLog& log);
  void count_left_out_activities(std::uint64_t count) noexcept;

  // Writes down what has become of the windows, at the process's end.
  void settle_at(ThreadLog& log, std::int64_t time_ns);

  void lock() { mutex_.lock(); }  // around fork()
  void unlock() { mutex_.unlock(); }
  void after_fork_in_child();  // locked: its steps are its own, the page's toggles hold for it, too

 private:
  void leave_out() noexcept;
  void settle(ThreadLog& log, std::int64_t time_ns);  // locked, as all below
  void apply(ThreadLog& log, std::int64_t time_ns);   // the window that follows from what is asked for
  void publish(std::int64_t time_ns);                 // what holds without asking
  bool nested(const ThreadLog& log, bool numbered);
  StepLoop* loop_of(std::int64_t tid, const std::string& pattern, bool numbered);
  void follow(ThreadLog& log, const StepLoop& loop, std::int64_t number, std::int64_t time_ns);
  void take_over(std::int64_t time_ns, ThreadLog& log);
  void note_step(const StepLoop& loop, std::int64_t number, std::string_view name);
  void note_name(std::string_view name);
  void begin_anew();

  const trace::ControlPage* page_ = nullptr;
  bool other_host_ = false;  // the page's times are of another clock
  std::string range_;
  std::mutex mutex_;
  std::atomic<trace::ShardBounds*> bounds_{nullptr};

  std::vector<RecordingWindow> windows_;
  bool on_ = false;  // the last window goes on
  std::uint32_t toggles_passed_ = 0;
  std::int64_t limit_ns_ = INT64_MAX;  // when this window has lasted as long as it may
  bool spent_ = false;                 // it has
  std::int64_t changed_ns_ = INT64_MIN;

  std::atomic<bool> watching_{false};
  bool steps_admit_ = true;  // the steps let through
  bool names_noted_ = false;
  const StepLoop* owner_ = nullptr;  // whose steps were asked for
  bool numbered_only_ = false;
  std::map<std::pair<std::int64_t, std::string>, StepLoop> loops_;
  struct OpenRange {
    StepLoop* loop;
    std::int64_t number;
  };
  std::unordered_map<std::uint64_t, OpenRange> open_ranges_;

  // What holds without asking while steps are watched, or nothing is kept.
  std::atomic<std::int64_t> on_until_ns_{INT64_MIN}, off_until_ns_{INT64_MIN};
};

}  // namespace ddpprof::record
