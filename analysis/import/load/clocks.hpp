// Aligns the clocks of ranks with the help of collectives that several ranks took part in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/clock.hpp"

namespace ddpprof::import {

// Returns the offset of `shard`'s clock from `reference`'s clock. `wall_offset_ns` is the offset that the files' own
// clocks give, if they record the time of day: the time to add to this shard's times to get the reference's times.
//
// No rank's part of a collective ends before every rank has begun it. This bounds the offset from both sides. Inside
// these bounds the offset is one of:
// - the median difference of the ends of collectives, because a collective ends on all ranks at about the same time.
//   Its uncertainty is the range of nine tenths of the differences. It is used if the uncertainty is below a tenth of a
//   step (devices: some microseconds);
// - otherwise `wall_offset_ns`, if the bounds admit it. Its uncertainty is that of the bounds.
// The offset is unknown in these cases:
// - the two shards have fewer than 3 collectives in common;
// - the files' clocks contradict the bounds, or the bounds contradict each other;
// - the uncertainty is above half a step.
store::ClockAlignment align_by_collectives(const ingest::LoadedShard& shard, const ingest::LoadedShard& reference,
                                           std::optional<std::int64_t> wall_offset_ns);

struct RankClock {
  std::string name;          // clocks with equal names are one clock
  std::int64_t base_ns = 0;  // time of the clock's zero since 1970; 0: unknown, or the zero is 1970
};

// Sets every shard's alignment with rank 0's clock; `clocks` are the shards' clocks in the same order. Ranks that share
// a clock get one offset and one uncertainty: those of the rank with the smallest uncertainty (ties go to the first).
// Each rank keeps the offset measured with its own collectives. A rank that shares no group with rank 0 is aligned
// through ranks that do, as in a mesh of tensor and data parallel groups. Does nothing if no shard has rank 0: times
// stay as recorded.
void align_ranks(std::vector<ingest::LoadedShard>& shards, const std::vector<RankClock>& clocks);

}  // namespace ddpprof::import
