// Predicted and measured knees: the N from which on a fifth of the step is exposed communication.
#pragma once

#include <filesystem>

#include "tests/validation/step_tables/learn.hpp"

namespace ddpprof::validation {

// Prints a table of the knees above every N that was fitted. Returns true if two thirds of them are predicted
// within a power of two, and at most a quarter of the shapes without a knee are predicted to have one.
bool judge_knees(const std::filesystem::path& pollux, const PolluxRows&, const PlacementFits&);

}  // namespace ddpprof::validation
