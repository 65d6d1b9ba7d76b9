// What cannot be true in a table of step times, or is hardly a repeat.
#pragma once

#include <string>
#include <vector>

#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::fit {

// Returns at most two sentences: a row with more than N times the throughput of one worker, and equal rows whose times
// differ by more than a factor of three. Empty for a table without doubt.
std::vector<std::string> table_doubts(const std::vector<StepRow>& rows);

}  // namespace ddpprof::fit
