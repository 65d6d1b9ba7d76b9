// The limits of `ddpprof compare --fail-if`, judged with the intervals of a comparison.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/core/table.hpp"

namespace ddpprof::cli {

// A change of B against A that is not accepted.
struct ChangeLimit {
  std::string text;    // as given: step>3%, throughput<-3%
  std::string what;    // throughput, or a word of the column `what` of the table compare_time
  bool above = true;   // the change must not be above the limit; false: not below
  double ratio = 1.0;  // the limit as B / A
};

// Parses "step>3%" or "throughput<-3%". Throws Failure (usage) for another form or an unknown part.
ChangeLimit parse_change_limit(const std::string& text);

// Puts the table `compare_limits` behind the first table of a report of `ddpprof compare`: each limit in each
// configuration. A limit is exceeded if the verdict is `different` and the whole interval of B / A is beyond the limit.
// A part that the job does not have cannot be told. Returns true if a limit is exceeded.
bool add_change_limits(report::Report& compared, const std::vector<ChangeLimit>& limits);

}  // namespace ddpprof::cli
