// Tables of why a step takes what it takes, and of what a change would make of it.
#pragma once

#include <span>

#include "analysis/fit/predict.hpp"
#include "analysis/report/report.hpp"

namespace ddpprof::report {

// By term: how much of the step would be gone if the term took no time.
Table why_table(std::span<const fit::WhyRow>, const fit::WhatIf&);
Table what_if_table(std::span<const fit::WhatIfRow>, const fit::WhatIf&, double confidence);

}  // namespace ddpprof::report
