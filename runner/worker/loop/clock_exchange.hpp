// Compares this rank's clock with rank 0's clock by timed messages.
#pragma once

#include <vector>

#include "runner/worker/torch.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::worker {

inline constexpr int clock_exchanges = 40;

// Every rank must call this. For each other rank in turn, rank 0 answers `clock_exchanges` messages with its clock.
// Each answer gives one ClockSample, which is marked in the trace and returned. The uncertainty of an offset is half
// the round trip, so use the sample with the shortest round trip. Rank 0 is the reference and returns no samples.
// Throws c10::Error if a rank does not answer within the group's timeout.
std::vector<vocabulary::ClockSample> exchange_clocks(c10d::ProcessGroup& control);

}  // namespace ddpprof::worker
