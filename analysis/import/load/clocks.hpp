// Lays ranks' clocks beside each other by the ends of the collectives that they took part in.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/clock.hpp"

namespace ddpprof::import {

// A collective of all ranks ends on all of them at about the same moment, whoever came late. The offset is the median
// difference of ends; its uncertainty covers nine of ten differences and half of the shortest of those collectives,
// which bounds how far apart true ends lie. Unknown with fewer than 3 collectives in common, or where the uncertainty
// exceeds a tenth of a step.
store::ClockAlignment align_by_ends(const ingest::LoadedShard& shard, const ingest::LoadedShard& reference);

}  // namespace ddpprof::import
