// The rank that costs the other ranks most, as a sentence of the answer.
#pragma once

#include <string>

#include "analysis/report/answer/glance.hpp"

namespace ddpprof::report {

// Returns the sentence about the named rank of this measured step, from the table of stragglers; empty without one.
std::string slow_rank_sentence(const Source&, const GlanceStep&);

}  // namespace ddpprof::report
