// Compares this rank's clock with rank 0's, by timed messages.
#pragma once

#include <vector>

#include "runner/worker/torch.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::worker {

inline constexpr int clock_exchanges = 40;

// Every rank calls this together. Rank by rank, rank 0 answers `clock_exchanges` messages with its clock; each answer
// is one ClockSample (the offset's uncertainty is half the round trip: take the smallest), marked in the trace and
// returned. Rank 0 is the reference and gets none. Throws c10::Error when a rank does not answer within the group's
// timeout.
std::vector<vocabulary::ClockSample> exchange_clocks(c10d::ProcessGroup& control);

}  // namespace ddpprof::worker
