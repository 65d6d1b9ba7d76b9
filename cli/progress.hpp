// The one line on a terminal that says what a run is doing: strategy, N, step, and how long it will still take.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "cli/plan.hpp"

namespace ddpprof::cli {

// Remaining seconds: this configuration's steps at their own pace, the others at the mean of those that ended.
// Negative when nothing is known yet.
double remaining_s(double configuration_elapsed_s, std::int64_t steps_done, std::int64_t steps_planned,
                   double finished_total_s, std::int64_t finished, std::int64_t waiting);

class ProgressLine {
 public:
  // Writes nothing unless `enabled` (a terminal, and not -q).
  ProgressLine(std::ostream& out, bool enabled, std::int64_t configurations);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void begin(const Configuration& configuration);
  void update(const std::string& activity, std::int64_t step, std::int64_t steps_planned);
  void end();    // the configuration is measured
  void clear();  // before another message is printed

 private:
  using Clock = std::chrono::steady_clock;
  std::ostream& out_;
  bool enabled_;
  std::int64_t configurations_;
  std::int64_t finished_ = 0;
  double finished_total_s_ = 0;
  Configuration current_;
  Clock::time_point begun_;
  bool shown_ = false;
};

}  // namespace ddpprof::cli
