// Finds likely mistakes in a table of step times.
#pragma once

#include <string>
#include <vector>

#include "analysis/fit/table/step_row.hpp"

namespace ddpprof::fit {

// Returns a sentence for each kind of mistake: a row of N workers with more than N times the throughput of one, or with
// far more than that of fewer ones; equal rows that differ by almost a factor of two; a step that is many times longer
// than the one before it, or shorter with a larger batch; throughputs as step times; global batches as those of a
// worker. Empty for a table without doubt.
std::vector<std::string> table_doubts(const std::vector<StepRow>& rows);

}  // namespace ddpprof::fit
