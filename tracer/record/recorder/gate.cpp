#include "tracer/record/recorder/gate.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/shard_file.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {
namespace {

using trace::ControlPage;
using trace::RecordType;

struct PlainRecord {
  trace::RecordHeader header;
};

struct MappedPage {
  const ControlPage* page = nullptr;
  std::optional<std::string> refusal;  // why an existing page cannot be used
};

// Returns neither a page nor a refusal if the file does not exist.
MappedPage map_page(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) return {};
    return {nullptr, std::strerror(errno)};
  }
  struct stat status {};
  const bool whole = fstat(descriptor, &status) == 0 && status.st_size == static_cast<off_t>(trace::control_page_bytes);
  void* base = whole ? mmap(nullptr, trace::control_page_bytes, PROT_READ, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  const int map_error = errno;
  close(descriptor);
  if (!whole)
    return {nullptr, "it has " + std::to_string(status.st_size) + " bytes instead of " +
                         std::to_string(trace::control_page_bytes)};
  if (base == MAP_FAILED) return {nullptr, std::strerror(map_error)};
  const auto* page = static_cast<const ControlPage*>(base);
  std::optional<std::string> refusal;
  if (std::memcmp(page->magic, trace::control_magic, sizeof page->magic) != 0)
    refusal = "its first bytes are not those of a control page";
  else if (page->version != trace::control_version || page->page_bytes != trace::control_page_bytes)
    refusal = "its version is " + std::to_string(page->version) + "; this tracer reads version " +
              std::to_string(trace::control_version);
  if (!refusal) return {page, std::nullopt};
  munmap(base, trace::control_page_bytes);
  return {nullptr, std::move(refusal)};
}

template <std::size_t N>
void copy_text(char (&to)[N], std::string_view text) {
  const std::size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

bool in_windows(const std::vector<RecordingWindow>& windows, std::int64_t time_ns) {
  for (auto window = windows.rbegin(); window != windows.rend(); ++window)
    if (time_ns >= window->on_ns) return time_ns < window->off_ns;
  return false;
}

void Gate::open(const std::string& folder) {
  const std::string path = folder + "/" + trace::control_page_name;
  const MappedPage mapped = map_page(path);
  if (mapped.refusal)
    std::fprintf(
        stderr,
        "ddpprof tracer: %s cannot be used: %s. Process %d is recorded from its start to its end. Use the same "
        "ddpprof version for the job and for 'ddpprof record', and make the folder readable for the job's "
        "user.\n",
        path.c_str(), mapped.refusal->c_str(), static_cast<int>(getpid()));
  page_ = mapped.page;
  if (page_ == nullptr) return;
  char boot_id[sizeof page_->boot_id] = {};
  read_boot_id(boot_id, sizeof boot_id);
  other_host_ = std::strncmp(boot_id, page_->boot_id, sizeof boot_id) != 0;
  if (other_host_)
    std::fprintf(
        stderr,
        "ddpprof tracer: process %d runs on another host than 'ddpprof record'. Limits in time do not apply to "
        "it; limits in steps do.\n",
        static_cast<int>(getpid()));
  range_.assign(page_->step_range, strnlen(page_->step_range, sizeof page_->step_range));
  begin_anew();
}

void Gate::begin_anew() {
  windows_.clear();
  on_ = spent_ = names_noted_ = numbered_only_ = false;
  toggles_passed_ = 0;
  limit_ns_ = INT64_MAX;
  changed_ns_ = INT64_MIN;
  owner_ = nullptr;
  loops_.clear();
  open_ranges_.clear();
  steps_admit_ = page_->watches_steps == 0 || page_->first_step == trace::no_first_step;
  watching_.store(page_->watches_steps != 0, std::memory_order_relaxed);
  on_until_ns_.store(INT64_MIN, std::memory_order_relaxed);
  off_until_ns_.store(INT64_MIN, std::memory_order_relaxed);
  kept_until_ns.store(INT64_MIN, std::memory_order_relaxed);
}

void Gate::after_fork_in_child() {
  bounds_.store(nullptr, std::memory_order_relaxed);
  if (bounded()) begin_anew();
}

void Gate::describe(trace::ShardBounds& bounds) {
  if (!bounded()) return;
  bounds.asked = 1;
  bounds.watches_steps = page_->watches_steps;
  bounds.first_step = page_->first_step;
  bounds.last_step = page_->last_step;
  copy_text(bounds.step_range, range_);
  bounds_.store(&bounds, std::memory_order_release);
}

void Gate::leave_out() noexcept {
  if (trace::ShardBounds* bounds = bounds_.load(std::memory_order_acquire))
    bounds->left_out_events.fetch_add(1, std::memory_order_relaxed);
}

void Gate::count_left_out_activities(std::uint64_t count) noexcept {
  if (trace::ShardBounds* bounds = bounds_.load(std::memory_order_acquire))
    bounds->left_out_activities.fetch_add(count, std::memory_order_relaxed);
}

bool Gate::admits(ThreadLog& log, std::int64_t time_ns) {
  if (!bounded() || time_ns < on_until_ns_.load(std::memory_order_relaxed)) return true;
  if (time_ns >= off_until_ns_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    settle(log, time_ns);
    publish(time_ns);
    if (in_windows(windows_, time_ns)) return true;
  }
  leave_out();
  return false;
}

void Gate::settle(ThreadLog& log, std::int64_t time_ns) {
  const std::uint32_t toggles =
      other_host_ ? 0 : std::min(page_->toggle_count.load(std::memory_order_acquire), trace::most_toggles);
  if (windows_.empty() && other_host_) apply(log, 0);
  for (;;) {
    const std::int64_t toggle_ns =
        toggles_passed_ < toggles ? page_->toggles_ns[toggles_passed_].load(std::memory_order_relaxed) : INT64_MAX;
    const std::int64_t next_ns = std::min(toggle_ns, limit_ns_);
    if (next_ns > time_ns) return;
    if (limit_ns_ <= toggle_ns) {
      spent_ = true;
      limit_ns_ = INT64_MAX;
    } else {
      ++toggles_passed_;
      if (toggles_passed_ % 2 == 1) spent_ = false, limit_ns_ = INT64_MAX;
    }
    apply(log, next_ns);
  }
}

void Gate::apply(ThreadLog& log, std::int64_t time_ns) {
  const bool asked = other_host_ || toggles_passed_ % 2 == 1;
  const bool on = asked && steps_admit_ && !spent_;
  if (on == on_) return;
  // Threads may arrive here in another order than their events. A window never ends before it starts.
  changed_ns_ = time_ns = std::max(time_ns, changed_ns_);
  on_ = on;
  if (on) {
    windows_.push_back({time_ns, INT64_MAX});
    if (trace::ShardBounds* bounds = bounds_.load(std::memory_order_acquire))
      bounds->opened.store(1, std::memory_order_relaxed);
    if (page_->step_limit_ns > 0 && limit_ns_ == INT64_MAX) limit_ns_ = time_ns + page_->step_limit_ns;
  } else {
    windows_.back().off_ns = time_ns;
  }
  write_record(log, on ? RecordType::window_begin : RecordType::window_end, 0, time_ns, PlainRecord{});
}

void Gate::publish(std::int64_t time_ns) {
  std::int64_t until_ns = limit_ns_;
  if (page_->watches_steps != 0 && !steps_admit_ && !watches_steps()) {  // no later event is recorded
    off_until_ns_.store(INT64_MAX, std::memory_order_relaxed);
    on_until_ns_.store(INT64_MIN, std::memory_order_relaxed);
    return kept_until_ns.store(INT64_MIN, std::memory_order_relaxed);
  }
  if (!other_host_) {
    const std::uint32_t toggles = std::min(page_->toggle_count.load(std::memory_order_acquire), trace::most_toggles);
    if (toggles_passed_ < toggles)
      until_ns = std::min(until_ns, page_->toggles_ns[toggles_passed_].load(std::memory_order_relaxed));
    // Counted from a time before the page was read: a toggle that is added later takes effect after control_notice_ns.
    if (page_->may_change != 0) until_ns = std::min(until_ns, time_ns + trace::control_poll_ns);
  }
  on_until_ns_.store(on_ ? until_ns : INT64_MIN, std::memory_order_relaxed);
  off_until_ns_.store(on_ ? INT64_MIN : until_ns, std::memory_order_relaxed);
  kept_until_ns.store(on_ && !watches_steps() ? until_ns : INT64_MIN, std::memory_order_relaxed);
}

std::vector<RecordingWindow> Gate::windows(ThreadLog& log) {
  if (!bounded()) return {RecordingWindow{}};
  settle_at(log, monotonic_ns());
  const std::lock_guard lock(mutex_);
  return windows_;
}

void Gate::settle_at(ThreadLog& log, std::int64_t time_ns) {
  if (!bounded()) return;
  const std::lock_guard lock(mutex_);
  settle(log, time_ns);
  publish(time_ns);
}

}  // namespace ddpprof::record
