#include "runner/measure/recording_bounds.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "runner/measure/error.hpp"

namespace ddpprof::measure {
namespace {

using trace::ControlPage;

constexpr double longest_s = 366.0 * 24 * 3600;

std::int64_t nanoseconds(double seconds, const char* option, bool zero) {
  if (!std::isfinite(seconds) || seconds < 0 || (seconds == 0 && !zero) || seconds > longest_s)
    throw InvalidRequest(fmt::format("{} {}", option, seconds),
                         fmt::format("seconds, {} 0 and at most {:.0f}", zero ? "at least" : "more than", longest_s));
  return std::llround(seconds * 1e9);
}

std::optional<std::int64_t> whole(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.front() == '-' ||
      number >= vocabulary::most_steps)
    return std::nullopt;
  return number;
}

}  // namespace

bool RecordingOptions::any() const {
  return delay_s || duration_s || paused || !steps.empty() || !step_range.empty() || !toggle_signal.empty();
}

void parse_steps(const std::string& text, RecordingBounds& bounds, const std::string& option) {
  const auto refuse = [&] {
    throw InvalidRequest(option + " " + text, "A-B, A-, -B or A: numbers of steps from 0 on, A at most B");
  };
  const std::size_t dash = text.find('-');
  const std::string first = text.substr(0, dash), last = dash == std::string::npos ? first : text.substr(dash + 1);
  if (first.empty() && last.empty()) refuse();
  if (!first.empty()) {
    const std::optional<std::int64_t> number = whole(first);
    if (!number) refuse();
    bounds.first_step = *number;
  }
  if (!last.empty()) {
    const std::optional<std::int64_t> number = whole(last);
    if (!number) refuse();
    bounds.last_step = *number;
  }
  if (bounds.first_step > bounds.last_step) refuse();
  bounds.watches_steps = true;
}

int parse_signal(const std::string& text) {
  std::string_view name = text;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  if (name == "USR1") return SIGUSR1;
  if (name == "USR2") return SIGUSR2;
  if (name == "RTMIN") return SIGRTMIN;
  if (name.starts_with("RTMIN+") && name.size() > 6)
    if (const std::optional<std::int64_t> offset = whole(name.substr(6)); offset && *offset <= SIGRTMAX - SIGRTMIN)
      return SIGRTMIN + static_cast<int>(*offset);
  throw InvalidRequest("--toggle-signal " + text,
                       fmt::format("USR1, USR2, RTMIN or RTMIN+1 to RTMIN+{}", SIGRTMAX - SIGRTMIN),
                       "other signals end or stop jobs");
}

RecordingBounds checked_bounds(const RecordingOptions& given) {
  RecordingBounds bounds;
  if (given.delay_s) bounds.delay_ns = nanoseconds(*given.delay_s, "--delay", true);
  if (given.duration_s) bounds.duration_ns = nanoseconds(*given.duration_s, "--duration", false);
  if (!given.steps.empty()) parse_steps(given.steps, bounds);
  if (!given.toggle_signal.empty()) bounds.toggle_signal = parse_signal(given.toggle_signal);
  bounds.paused = given.paused;
  bounds.step_range = given.step_range;
  if (given.paused && given.toggle_signal.empty())
    throw InvalidRequest("--paused without --toggle-signal records nothing", "",
                         "add --toggle-signal with the signal that starts recording, or use --delay");
  if (given.paused && given.delay_s)
    throw InvalidRequest("--paused and --delay contradict each other", "one of them",
                         "--paused waits for a signal, --delay for a time; a signal during the delay ends it");
  if (!given.step_range.empty() && given.steps.empty())
    throw InvalidRequest("--step-range without --steps", "both", "--steps selects which of the ranges are kept");
  if (given.step_range.size() > vocabulary::longest_step_range)
    throw InvalidRequest(fmt::format("--step-range of {} bytes", given.step_range.size()),
                         fmt::format("at most {}", vocabulary::longest_step_range));
  return bounds;
}

ControlPageFile::ControlPageFile(const std::filesystem::path& folder, const RecordingBounds& bounds) : bounds_(bounds) {
  const std::filesystem::path path = folder / trace::control_page_name;
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  // Disk space is reserved now, so that a later write cannot fail on a full disk.
  const int refused =
      descriptor < 0 ? errno : posix_fallocate(descriptor, 0, static_cast<off_t>(trace::control_page_bytes));
  void* base = MAP_FAILED;
  if (refused == 0) base = mmap(nullptr, trace::control_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int error = refused != 0 ? refused : errno;
  if (descriptor >= 0) close(descriptor);
  if (base == MAP_FAILED)
    throw CannotWrite("cannot make " + path.string() + ": " + std::strerror(error), "",
                      "give --out in a folder that can be written to and has space");
  page_ = static_cast<ControlPage*>(base);
  page_->version = trace::control_version;
  page_->page_bytes = trace::control_page_bytes;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  boot.getline(page_->boot_id, sizeof page_->boot_id);
  page_->watches_steps = bounds.watches_steps ? 1 : 0;
  page_->may_change = bounds.toggle_signal != 0 ? 1 : 0;
  page_->first_step = bounds.first_step;
  page_->last_step = bounds.last_step;
  // With --steps the duration starts in each process when it begins to record, otherwise in all processes together.
  page_->step_limit_ns = bounds.watches_steps ? bounds.duration_ns : 0;
  bounds.step_range.copy(page_->step_range, sizeof page_->step_range - 1);
  std::memcpy(page_->magic, trace::control_magic, sizeof page_->magic);
}

ControlPageFile::~ControlPageFile() { munmap(page_, trace::control_page_bytes); }

// Sets toggle `index` and discards all later ones.
void ControlPageFile::set(std::uint32_t index, std::int64_t time_ns) {
  page_->toggles_ns[index].store(time_ns, std::memory_order_relaxed);
  toggles_ = index + 1;
  page_->toggle_count.store(toggles_, std::memory_order_release);
}

void ControlPageFile::start(std::int64_t now_ns) {
  if (bounds_.paused) return;
  set(0, bounds_.delay_ns > 0 || bounds_.duration_ns > 0 ? now_ns + bounds_.delay_ns : 0);
  if (bounds_.duration_ns > 0 && !bounds_.watches_steps) set(1, now_ns + bounds_.delay_ns + bounds_.duration_ns);
}

std::optional<bool> ControlPageFile::toggle(std::int64_t now_ns) {
  const std::int64_t at_ns = now_ns + trace::control_notice_ns;
  // Toggles in the past stay. A future end of a delay or duration is replaced.
  std::uint32_t kept = toggles_;
  while (kept > 0 && page_->toggles_ns[kept - 1].load(std::memory_order_relaxed) > at_ns) --kept;
  const bool on = kept % 2 == 0;
  const bool timed = on && bounds_.duration_ns > 0 && !bounds_.watches_steps;
  if (kept + (timed ? 2 : 1) > trace::most_toggles) return std::nullopt;
  const std::int64_t before_ns = kept > 0 ? page_->toggles_ns[kept - 1].load(std::memory_order_relaxed) : 0;
  const std::int64_t toggle_ns = std::max(at_ns, before_ns + 1);
  // A replaced toggle is overwritten in place: a reader never sees fewer toggles than are valid.
  set(kept, toggle_ns);
  if (timed) set(kept + 1, toggle_ns + bounds_.duration_ns);
  return on;
}

}  // namespace ddpprof::measure
