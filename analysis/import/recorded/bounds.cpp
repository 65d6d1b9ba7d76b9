#include "analysis/import/recorded/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracer/format/control_page.hpp"

namespace ddpprof::import {
namespace {

std::string asked_steps(const store::BoundsInfo& bounds) {
  if (bounds.first_step == trace::no_first_step) return fmt::format("steps to {}", bounds.last_step);
  if (bounds.last_step == trace::no_last_step) return fmt::format("steps from {} on", bounds.first_step);
  return fmt::format("steps {} to {}", bounds.first_step, bounds.last_step);
}

std::string several(std::uint64_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string joined_lines(std::string lines) {
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  std::string joined;
  for (const char c : lines) joined += c == '\n' ? std::string("\", \"") : std::string(1, c);
  return joined;
}

}  // namespace

void RecordedBounds::finish() {
  std::sort(begins_.begin(), begins_.end());
  std::sort(ends_.begin(), ends_.end());
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    const auto end = std::lower_bound(ends_.begin(), ends_.end(), begins_[i]);
    const std::int64_t next_ns = i + 1 < begins_.size() ? begins_[i + 1] : INT64_MAX;
    windows_.push_back({begins_[i], end == ends_.end() ? next_ns : std::min(*end, next_ns)});
  }
}

bool RecordedBounds::kept(std::int64_t time_ns) const {
  const auto after = std::upper_bound(windows_.begin(), windows_.end(), time_ns,
                                      [](std::int64_t t, const Span& window) { return t < window.start_ns; });
  return after != windows_.begin() && time_ns < std::prev(after)->end_ns;
}

std::optional<std::int64_t> RecordedBounds::step_number(std::int64_t tid, std::int64_t start_ns) const {
  const auto found = steps_.find({tid, start_ns});
  return found == steps_.end() ? std::nullopt : std::optional(found->second);
}

Note note_of_bounds(const store::BoundsInfo& bounds, const std::vector<Span>& windows, std::int64_t until_ns) {
  std::string kept = several(windows.size(), "recording window", "recording windows");
  if (bounds.watches_steps)
    kept = asked_steps(bounds) + fmt::format(" (named like \"{}\"), ", bounds.step_range) + kept;
  std::string seen;
  if (bounds.watches_steps && bounds.steps_seen > 0 && bounds.highest_step < bounds.last_step &&
      bounds.last_step != trace::no_last_step)
    seen = fmt::format("; the last step recorded was {}", bounds.highest_step);
  std::int64_t total_ns = 0;
  for (const Span& window : windows)
    total_ns += std::max<std::int64_t>(0, std::min(window.end_ns, until_ns) - window.start_ns);
  // The begin of a window that starts with the process is not recorded, so its duration is unknown.
  if (!windows.empty() && windows.front().start_ns > 0)
    kept += fmt::format(" of {:.3f} s", static_cast<double>(total_ns) * 1e-9);
  return {ingest::Severity::warning, "recording_bounded",
          static_cast<std::int64_t>(bounds.left_out_events + bounds.left_out_activities),
          fmt::format("recorded as requested: {}{}; left out: {}, {}", kept, seen,
                      several(bounds.left_out_events, "range or mark", "ranges and marks"),
                      several(bounds.left_out_activities, "GPU record", "GPU records")),
          "times and counts cover the recorded part only; record without bounds for the whole job"};
}

std::string why_nothing_was_kept(const store::BoundsInfo& bounds) {
  if (!bounds.watches_steps)
    return fmt::format(
        "recording was off all the time ({} occurred): the process ended before --delay, or received no "
        "--toggle-signal",
        several(bounds.left_out_events, "range or mark", "ranges and marks"));
  if (bounds.steps_seen > 0)
    return fmt::format(
        "{} were requested, but {} occurred: {} to {}, the first named \"{}\" (or recording was off during the "
        "requested steps)",
        asked_steps(bounds), several(bounds.steps_seen, "step", "steps"), bounds.lowest_step, bounds.highest_step,
        bounds.step_range);
  const std::string seen = bounds.names_seen.empty()
                               ? "no range was seen"
                               : fmt::format("the first names are \"{}\"", joined_lines(bounds.names_seen));
  const std::string wanted = bounds.step_range.empty() ? "no range is named like a step"
                                                       : fmt::format("no range is named \"{}\"", bounds.step_range);
  return fmt::format("{} were requested, but {} ({}); set --step-range to the name of a step's range",
                     asked_steps(bounds), wanted, seen);
}

}  // namespace ddpprof::import
