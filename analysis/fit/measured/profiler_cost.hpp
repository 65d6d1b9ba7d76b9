// Removes the profiler's cost from steps that were recorded with it, if the same job was also timed without it.
#pragma once

#include <vector>

#include "analysis/fit/measured/gradients.hpp"
#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

// Time that the profiler added to the work of the host, from the steps of one measurement.
class ProfilerCost {
 public:
  // Both factors are 1 if the measurement has no step of kind untraced, or no measured one.
  explicit ProfilerCost(const std::vector<StepInfo>& steps);

  // Time of work without the profiler / time with it: the same for forward, backward and optimizer. Communication that
  // is exposed and the wait for data do not contain the profiler's work. Between 0.025 and 1.25.
  double work_factor() const { return factor_; }
  // Returns true if exposed communication became longer with the profiler, too: ranks wait for the slowest one. Then
  // one factor holds for the whole step, and its parts are uncertain.
  bool waits_longer() const { return waits_longer_; }
  bool known() const { return known_; }

  // Returns the steps as they would be without the profiler. Steps of kind untraced stay as they are.
  std::vector<StepInfo> removed(std::vector<StepInfo> steps) const;
  // Returns the collectives of these steps, at the times at which they would happen in removed(steps). A
  // collective's time outside of compute stays, unless waits_longer().
  std::vector<CollectiveInfo> removed(std::vector<CollectiveInfo> collectives,
                                      const std::vector<StepInfo>& steps) const;
  std::vector<GradientReady> removed(std::vector<GradientReady> gradients) const;

 private:
  double factor_ = 1.0, waits_factor_ = 1.0;
  bool known_ = false, waits_longer_ = false;
};

}  // namespace ddpprof::fit
