// Writes steps and collectives one rank after the other and matches them in the database afterwards. So a thousand
// ranks need the memory of one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/ingest/matching.hpp"
#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::ingest {

class RankMerge {
 public:
  RankMerge(store::Database& database, MeasurementWriter& writer) : database_(database), writer_(writer) {}

  // Ranks in ascending order. match() sets transfer and skew later.
  void write(LoadedShard&);
  UnmatchedCollectives match(std::span<const std::int64_t> ranks_expected);

 private:
  // The consecutive rows of one shard: rowids above `first`, up to `last`.
  struct Rows {
    std::int64_t first = 0, last = 0;
  };
  struct Written {
    std::int64_t rank = 0;
    Rows steps, collectives;
  };
  void match(const Written&);

  store::Database& database_;
  MeasurementWriter& writer_;
  CollectiveMatcher matcher_;
  std::vector<Written> written_;
};

}  // namespace ddpprof::ingest
