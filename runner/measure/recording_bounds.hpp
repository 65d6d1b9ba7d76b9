// The bounds of `ddpprof record`: its options, checked before the job runs, and the page that tells the job's
// processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tracer/format/control_page.hpp"

namespace ddpprof::measure {

// As given on the command line.
struct RecordingOptions {
  std::optional<double> delay_s, duration_s;
  std::string steps, step_range, toggle_signal;
  bool paused = false;

  bool any() const;
};

// … and what they mean. Throws InvalidRequest on what makes no sense, or contradicts itself.
struct RecordingBounds {
  std::int64_t delay_ns = 0, duration_ns = 0;  // duration 0: no end
  bool watches_steps = false;
  std::int64_t first_step = trace::no_first_step, last_step = trace::no_last_step;
  std::string step_range;
  int toggle_signal = 0;  // 0: none
  bool paused = false;
};
RecordingBounds checked_bounds(const RecordingOptions&);

// "3-7", "3-", "-7", "3". Throws InvalidRequest.
void parse_steps(const std::string& text, RecordingBounds& bounds);
// "USR1", "SIGUSR2", "RTMIN+3": the signal's number. Throws InvalidRequest.
int parse_signal(const std::string& text);

// The page, mapped for as long as the job runs; the file stays in `folder`.
class ControlPageFile {
 public:
  // Throws CannotWrite where it cannot be made.
  ControlPageFile(const std::filesystem::path& folder, const RecordingBounds& bounds);
  ~ControlPageFile();
  ControlPageFile(const ControlPageFile&) = delete;
  ControlPageFile& operator=(const ControlPageFile&) = delete;

  // The command is about to start.
  void start(std::int64_t now_ns);

  // Turns recording on where it is off, or is to go on later, else off. Once it is on it lasts as long as --duration
  // says. Returns what it is from now on, nullopt where the page is full: nothing was changed.
  std::optional<bool> toggle(std::int64_t now_ns);

 private:
  void set(std::uint32_t index, std::int64_t time_ns);

  RecordingBounds bounds_;
  trace::ControlPage* page_ = nullptr;
  std::uint32_t edges_ = 0;
};

}  // namespace ddpprof::measure
