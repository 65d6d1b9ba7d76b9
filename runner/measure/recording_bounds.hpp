// When `ddpprof record` records: its options, checked before the job runs, and the shared page that the tracer in each
// process of the job reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tracer/format/control_page.hpp"

namespace ddpprof::measure {

// The options as given on the command line.
struct RecordingOptions {
  std::optional<double> delay_s, duration_s;
  std::string steps, step_range, toggle_signal;
  bool paused = false;

  bool any() const;
};

// The parsed options.
struct RecordingBounds {
  std::int64_t delay_ns = 0, duration_ns = 0;  // duration 0: no end
  bool watches_steps = false;
  std::int64_t first_step = trace::no_first_step, last_step = trace::no_last_step;
  std::string step_range;
  int toggle_signal = 0;  // 0: none
  bool paused = false;
};
// Throws InvalidRequest if a value is invalid or options contradict each other.
RecordingBounds checked_bounds(const RecordingOptions&);

// Parses "3-7", "3-", "-7" or "3". `option` is its name in the message. Throws InvalidRequest.
void parse_steps(const std::string& text, RecordingBounds& bounds, const std::string& option = "--steps");
// Returns the number of a signal such as "USR1", "SIGUSR2" or "RTMIN+3". Throws InvalidRequest.
int parse_signal(const std::string& text);

// The shared page. It is mapped while the object exists; the file stays in `folder`.
class ControlPageFile {
 public:
  // Throws CannotWrite if the file cannot be made.
  ControlPageFile(const std::filesystem::path& folder, const RecordingBounds& bounds);
  ~ControlPageFile();
  ControlPageFile(const ControlPageFile&) = delete;
  ControlPageFile& operator=(const ControlPageFile&) = delete;

  // Call just before the command starts.
  void start(std::int64_t now_ns);

  // Turns recording on if it is off or starts later, otherwise off. Once on, it lasts for --duration. Returns true if
  // recording is on from now on; nullopt if the page is full and nothing was changed.
  std::optional<bool> toggle(std::int64_t now_ns);

 private:
  void set(std::uint32_t index, std::int64_t time_ns);

  RecordingBounds bounds_;
  trace::ControlPage* page_ = nullptr;
  std::uint32_t toggles_ = 0;
};

}  // namespace ddpprof::measure
