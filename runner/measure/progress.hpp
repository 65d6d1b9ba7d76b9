// What a run is doing, while it does it: strategy, N, step, and how long it will still take; one line that a terminal
// rewrites, or a line of JSON each time for a program.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "runner/measure/plan.hpp"

namespace ddpprof::measure {

// Remaining seconds: this configuration's steps at their own pace, the others at the mean of those that ended.
// Negative when nothing is known yet.
double remaining_s(double configuration_elapsed_s, std::int64_t steps_done, std::int64_t steps_planned,
                   double finished_total_s, std::int64_t finished, std::int64_t waiting);

enum class ProgressForm { none, terminal, json_lines };

class ProgressLine {
 public:
  ProgressLine(std::ostream& out, ProgressForm form, std::int64_t configurations);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void begin(const Configuration& configuration);
  void update(const std::string& activity, std::int64_t step, std::int64_t steps_planned);
  void end();       // the configuration is measured
  void skip();      // … or was measured by an earlier run
  void clear();     // before another message is printed
  void conclude();  // all are measured: what follows is fitting and reporting

 private:
  using Clock = std::chrono::steady_clock;
  double remaining_s_now(std::int64_t step, std::int64_t steps_planned) const;

  std::ostream& out_;
  ProgressForm form_;
  std::int64_t configurations_;
  std::int64_t finished_ = 0, skipped_ = 0;  // skipped: among the finished
  double finished_total_s_ = 0;
  Configuration current_;
  Clock::time_point begun_;
  bool shown_ = false;
};

}  // namespace ddpprof::measure
