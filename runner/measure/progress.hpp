// Shows the progress of a run: strategy, N, step and remaining time. On a terminal: one line that is rewritten. For a
// program: a line of JSON per update.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "runner/measure/plan.hpp"

namespace ddpprof::measure {

// Remaining seconds. The rest of this configuration is extrapolated from its own steps, the other configurations from
// the mean of the finished ones. Negative: unknown so far.
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
  void end();           // the configuration was measured
  void skip();          // the configuration was measured by an earlier run
  void clear();         // call before another message is printed
  void show_fitting();  // all configurations are measured; fitting and reporting follow

 private:
  using Clock = std::chrono::steady_clock;
  double remaining_s_now(std::int64_t step, std::int64_t steps_planned) const;

  std::ostream& out_;
  ProgressForm form_;
  std::int64_t configurations_;
  std::int64_t finished_ = 0, skipped_ = 0;  // finished_ includes skipped_
  double finished_total_s_ = 0;
  Configuration current_;
  Clock::time_point begun_;
  bool shown_ = false;
};

}  // namespace ddpprof::measure
