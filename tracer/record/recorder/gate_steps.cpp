// The part of the gate that follows the program's steps.
#include <algorithm>
#include <cstring>

#include "tracer/record/recorder/gate.hpp"

namespace ddpprof::record {
namespace {

constexpr std::size_t names_to_note = 4;

}  // namespace

// Returns nullptr after too many patterns: names that differ at each step are not a loop.
StepLoop* Gate::loop_of(std::int64_t tid, const std::string& pattern, bool numbered) {
  constexpr std::size_t most_loops = 4096;
  const auto found = loops_.find({tid, pattern});
  if (found != loops_.end()) return &found->second;
  if (loops_.size() >= most_loops) return nullptr;
  return &loops_.emplace(std::pair(tid, pattern), StepLoop{tid, pattern, numbered, false, -1}).first->second;
}

// Returns true if the range is inside a step and thus a part of it, for example a micro-batch. A range with a number
// inside a step without one is not nested: it is the better candidate for the step.
bool Gate::nested(const ThreadLog& log, bool numbered) {
  const StepLoop* outer = log.step().loop;
  for (const auto& [id, range] : open_ranges_)
    if (range.loop->tid == log.os_tid()) outer = range.loop;
  return outer != nullptr && (outer->numbered || !numbered || !range_.empty());
}

// Called at the first range with a number. The ranges that were counted as steps until now are not steps.
void Gate::take_over(std::int64_t time_ns, ThreadLog& log) {
  numbered_only_ = true;
  if (trace::ShardBounds* bounds = bounds_.load(std::memory_order_acquire))
    bounds->steps_seen.store(0, std::memory_order_relaxed);
  if (owner_ == nullptr) return;
  owner_ = nullptr;
  steps_admit_ = page_->first_step == trace::no_first_step;
  apply(log, time_ns);
}

void Gate::note_step(const StepLoop& loop, std::int64_t number, std::string_view name) {
  trace::ShardBounds* bounds = bounds_.load(std::memory_order_acquire);
  if (bounds == nullptr || (owner_ != nullptr && owner_ != &loop)) return;
  if (bounds->steps_seen.load(std::memory_order_relaxed) == 0) {
    bounds->lowest_step.store(number, std::memory_order_relaxed);
    const std::size_t length = std::min(name.size(), sizeof bounds->step_range - 1);
    std::memcpy(bounds->step_range, name.data(), length);
    bounds->step_range[length] = '\0';
  }
  bounds->highest_step.store(number, std::memory_order_relaxed);
  bounds->steps_seen.fetch_add(1, std::memory_order_relaxed);
}

void Gate::note_name(std::string_view name) {
  trace::ShardBounds* bounds = bounds_.load(std::memory_order_acquire);
  if (bounds == nullptr || name.empty()) return;
  const std::string_view noted(bounds->names_seen);
  const auto lines = static_cast<std::size_t>(std::count(noted.begin(), noted.end(), '\n'));
  const std::string line = std::string(name.substr(0, 48)) + "\n";
  const bool known = ("\n" + std::string(noted)).find("\n" + line) != std::string::npos;
  if (!known && noted.size() + line.size() < sizeof bounds->names_seen)
    std::memcpy(bounds->names_seen + noted.size(), line.data(), line.size());
  names_noted_ = lines + 1 >= names_to_note;
}

// The first loop that reaches a requested step decides from then on.
void Gate::follow(ThreadLog& log, const StepLoop& loop, std::int64_t number, std::int64_t time_ns) {
  if (owner_ != nullptr && owner_ != &loop) return;
  const bool reached = number >= page_->first_step, over = number > page_->last_step;
  if (reached && !over) owner_ = &loop;
  steps_admit_ = reached && !over;
  if (over && owner_ != nullptr) watching_.store(false, std::memory_order_relaxed);
  apply(log, time_ns);
}

Gate::Beginning Gate::range_begins(ThreadLog& log, std::string_view name, std::int64_t time_ns) {
  if (!watches_steps()) return {admits(log, time_ns)};
  const std::uint64_t hash = std::hash<std::string_view>{}(name) | 1;
  std::uint64_t& known = log.no_step_slot(hash);
  if (known == hash) return {admits(log, time_ns)};
  const std::optional<vocabulary::StepName> step = vocabulary::step_name(name, range_);
  if (!step) {
    known = hash;
    {
      const std::lock_guard lock(mutex_);
      if (!names_noted_) note_name(name);
    }
    return {admits(log, time_ns)};
  }
  Beginning beginning;
  {
    const std::lock_guard lock(mutex_);
    settle(log, time_ns);
    const bool numbered = step->number.has_value();
    if (!nested(log, numbered) && (numbered || !numbered_only_)) {
      if (numbered && !numbered_only_ && range_.empty()) take_over(time_ns, log);
      if (StepLoop* loop = loop_of(log.os_tid(), step->pattern, numbered)) {
        if (numbered && *step->number <= loop->last) loop->counted = true;
        beginning.loop = loop;
        beginning.time_ns = time_ns;
        beginning.number = loop->last = numbered && !loop->counted ? *step->number : loop->last + 1;
        note_step(*loop, beginning.number, name);
        follow(log, *loop, beginning.number, time_ns);
      }
    }
    publish(time_ns);
    beginning.kept = in_windows(windows_, time_ns);
  }
  if (!beginning.kept) leave_out();
  return beginning;
}

void Gate::step_ends(ThreadLog& log, const StepLoop* loop, std::int64_t number, std::int64_t time_ns) {
  const std::lock_guard lock(mutex_);
  if (loop != owner_ || number < page_->last_step || !watches_steps()) return;
  settle(log, time_ns);
  steps_admit_ = false;
  watching_.store(false, std::memory_order_relaxed);  // that was the last requested step
  apply(log, time_ns);
  publish(time_ns);
}

void Gate::remember_step_range(std::uint64_t range_id, StepLoop* loop, std::int64_t number) {
  const std::lock_guard lock(mutex_);
  open_ranges_.emplace(range_id, OpenRange{loop, number});
}

void Gate::step_range_ends(ThreadLog& log, std::uint64_t range_id, std::int64_t time_ns) {
  OpenRange range{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_ranges_.find(range_id);
    if (found == open_ranges_.end()) return;  // started before a fork
    range = found->second;
    open_ranges_.erase(found);
  }
  step_ends(log, range.loop, range.number, time_ns);
}

}  // namespace ddpprof::record
