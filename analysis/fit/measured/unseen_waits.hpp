// The time that an imported rank waited for ranks whose traces are missing.
//
// The time of a collective on one rank includes the waiting for other ranks. The shortest time over all ranks does not,
// but is not known. All-reduces of several sizes separate the two: time = wait + latency + bytes / bandwidth. The
// latency of the library is known well enough (NCCL's own tables; Gloo's hops), so the rest of the part that does not
// depend on the size is waiting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

struct UnseenWaits {
  double wait_s = 0.0;     // usual wait of an all-reduce; 0: not visible, or all-reduces of one size
  double latency_s = 0.0;  // assumed for the library at this N
  std::string warning;     // in words
};

// Sets skew_ns of collectives and steps: the usual wait, and for the longer half of a bucket's all-reduces also the
// time beyond the bucket's median. Does nothing if every rank was imported, or for data that was not imported.
UnseenWaits find_unseen_waits(const MeasurementInfo&, std::vector<StepInfo>&, std::vector<CollectiveInfo>&);

}  // namespace ddpprof::fit
