// Lays ranks' clocks beside each other by the collectives that they took part in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/clock.hpp"

namespace ddpprof::import {

// `wall_offset_ns`: what the files' own clocks say, where they say the time of day: how much to add to this shard's
// times to get the reference's.
//
// Nobody's part of a collective ends before everybody has begun it, which bounds the offset from both sides for
// certain. Inside of these bounds:
// - a collective ends on all ranks at about the same moment, whoever came late: the median difference of ends, known as
//   well as nine of ten differences lie, where that is better than a tenth of a step (devices: some microseconds);
// - else what the files' clocks say, where the bounds admit it, known as well as the bounds.
// Unknown with fewer than 3 collectives in common, where clocks contradict the bounds or each other, and where the
// offset is not known better than half a step.
store::ClockAlignment align_by_collectives(const ingest::LoadedShard& shard, const ingest::LoadedShard& reference,
                                           std::optional<std::int64_t> wall_offset_ns);

struct RankClock {
  std::string name;          // equal names: one clock
  std::int64_t base_ns = 0;  // of the times' zero since 1970; 0: not known, or it is zero
};

// Gives every shard its alignment with rank 0's clock, `clocks` being theirs in the same order. Ranks of one clock get
// one offset and one uncertainty, those of the rank among them that is known best (of equals the first); each keeps the
// offset that its own collectives say. Without a rank 0 there is nothing to align
// with: times stay as recorded.
void align_ranks(std::vector<ingest::LoadedShard>& shards, const std::vector<RankClock>& clocks);

}  // namespace ddpprof::import
