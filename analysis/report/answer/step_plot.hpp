// The step time over N as characters.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/answer/glance.hpp"

namespace ddpprof::report {

// Returns one plot for each strategy: N in columns of equal width, the time on a logarithmic scale. o: measured, x:
// predicted, |: the interval. Empty without steps.
std::string step_plot(const std::vector<GlanceStep>&, int width);

}  // namespace ddpprof::report
