// How long an imported rank waited for ranks whose traces are not there.
//
// A collective's time on one rank holds the waiting for the others; the shortest over all ranks does not, but is not
// known. All-reduces of several sizes tell: time = wait + latency + bytes / bandwidth, and the latency of the library
// is known well enough (NCCL's own tables; Gloo's hops) for the rest of what does not depend on size to be waiting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

struct UnseenWaits {
  double wait_s = 0.0;     // of an all-reduce, usually; 0: none that stands out, or all of one size
  double latency_s = 0.0;  // that the library is granted at this N
  std::string warning;     // in words
};

// Sets skew_ns of collectives and steps: the usual wait, and for the longer half of a bucket's all-reduces what they
// exceed the bucket's median by. Does nothing where every rank was imported, or for what is no import.
UnseenWaits find_unseen_waits(const MeasurementInfo&, std::vector<StepInfo>&, std::vector<CollectiveInfo>&);

}  // namespace ddpprof::fit
