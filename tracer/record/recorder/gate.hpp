// Applies the limits of `ddpprof record` (format/control_page.hpp) to each event of the process.
//
// An event is recorded if it starts inside a recording window. Windows come from the toggles of the control page. If
// steps were requested, a window is open only while the process's own step ranges admit it, too.
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
  std::int64_t off_ns = INT64_MAX;  // INT64_MAX: still open
};
bool in_windows(const std::vector<RecordingWindow>&, std::int64_t time_ns);

// The fast path of every event: an event that starts before this time is recorded. INT64_MAX: recording has no limits.
// INT64_MIN: the gate must decide.
inline constinit std::atomic<std::int64_t> kept_until_ns{INT64_MAX};

// A loop of steps: ranges of one name pattern on one thread.
struct StepLoop {
  std::int64_t tid = 0;
  std::string pattern;
  bool numbered = false;
  bool counted = false;    // true after numbers restarted, as in each epoch: steps are then counted on
  std::int64_t last = -1;  // number of the last step
};

class Gate {
 public:
  // Called at the process's first event, before any other call. Without a usable control page in `folder` everything is
  // recorded; an unusable page is reported on standard error.
  void open(const std::string& folder);
  bool bounded() const noexcept { return page_ != nullptr; }

  // Writes the limits into a new shard. From then on the gate counts into `bounds`.
  void describe(trace::ShardBounds& bounds);

  // Returns true if an event that starts at `time_ns` is recorded, and counts it otherwise. Not for ranges that may be
  // steps: see range_begins().
  bool admits(ThreadLog& log, std::int64_t time_ns);

  bool watches_steps() const noexcept { return watching_.load(std::memory_order_relaxed); }
  struct Beginning {
    bool kept = true;
    StepLoop* loop = nullptr;  // nullptr: not a step
    std::int64_t number = 0;
    std::int64_t time_ns = 0;  // of a step: its start, which is also the start of the window it opens
  };
  // Called when a range `name` starts on the log's thread. `name` is ignored after step tracking has stopped.
  Beginning range_begins(ThreadLog& log, std::string_view name, std::int64_t time_ns);
  void step_ends(ThreadLog& log, const StepLoop* loop, std::int64_t number, std::int64_t time_ns);

  // For steps that are start/end ranges: finds the step that a range's end belongs to.
  void remember_step_range(std::uint64_t range_id, StepLoop* loop, std::int64_t number);
  void step_range_ends(ThreadLog& log, std::uint64_t range_id, std::int64_t time_ns);

  // Returns all windows until now, for records that arrive later than the activity they describe.
  std::vector<RecordingWindow> windows(ThreadLog& log);
  void count_left_out_activities(std::uint64_t count) noexcept;

  // Records the windows up to `time_ns`. Called at the end of the process.
  void settle_at(ThreadLog& log, std::int64_t time_ns);

  void lock() { mutex_.lock(); }  // held around fork()
  void unlock() { mutex_.unlock(); }
  void after_fork_in_child();  // requires lock(): the child counts its own steps and obeys the same toggles

 private:
  void leave_out() noexcept;
  void settle(ThreadLog& log, std::int64_t time_ns);  // requires the lock, like all functions below
  void apply(ThreadLog& log, std::int64_t time_ns);   // opens or closes a window as toggles and steps require
  void publish(std::int64_t time_ns);                 // the time until which events need not ask
  bool nested(const ThreadLog& log, bool numbered);
  StepLoop* loop_of(std::int64_t tid, const std::string& pattern, bool numbered);
  void follow(ThreadLog& log, const StepLoop& loop, std::int64_t number, std::int64_t time_ns);
  void take_over(std::int64_t time_ns, ThreadLog& log);
  void note_step(const StepLoop& loop, std::int64_t number, std::string_view name);
  void note_name(std::string_view name);
  void begin_anew();

  const trace::ControlPage* page_ = nullptr;
  bool other_host_ = false;  // the page's times belong to another clock
  std::string range_;
  std::mutex mutex_;
  std::atomic<trace::ShardBounds*> bounds_{nullptr};

  std::vector<RecordingWindow> windows_;
  bool on_ = false;  // the last window is open
  std::uint32_t toggles_passed_ = 0;
  std::int64_t limit_ns_ = INT64_MAX;  // when this window reaches step_limit_ns
  bool spent_ = false;                 // this window has reached it
  std::int64_t changed_ns_ = INT64_MIN;

  std::atomic<bool> watching_{false};
  bool steps_admit_ = true;  // the steps admit recording
  bool names_noted_ = false;
  const StepLoop* owner_ = nullptr;  // the loop whose steps are recorded
  bool numbered_only_ = false;
  std::map<std::pair<std::int64_t, std::string>, StepLoop> loops_;
  struct OpenRange {
    StepLoop* loop;
    std::int64_t number;
  };
  std::unordered_map<std::uint64_t, OpenRange> open_ranges_;

  // The fast path while steps are watched or recording is off: times until which the answer is known.
  std::atomic<std::int64_t> on_until_ns_{INT64_MIN}, off_until_ns_{INT64_MIN};
};

}  // namespace ddpprof::record
