// Finds the collectives of different ranks that belong together: how long one took, and who waited in it for how long.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/ingest/intervals.hpp"
#include "analysis/ingest/summary.hpp"

namespace ddpprof::ingest {

struct UnmatchedCollectives {
  std::int64_t count = 0;  // (communicator, sequence) without a complete record from every rank
  std::uint64_t first_communicator = 0, first_sequence = 0;
  std::vector<std::int64_t> first_missing;  // ranks
};

// Two rounds over the ranks, between which no record is kept: memory grows with what one rank takes part in, not with
// the number of ranks, of which thousands may be merged.
class CollectiveMatcher {
 public:
  // First round: ranks in ascending order. `duration_ns`: none where the record has no start or no end.
  void add(std::int64_t rank, std::uint64_t communicator, std::uint64_t sequence,
           std::optional<std::int64_t> duration_ns);
  // `ranks_expected`: ranks whose absence from a communicator makes it unmatched; empty when every shard is there, so
  // that sub-groups need only the ranks they were seen on.
  void close(std::span<const std::int64_t> ranks_expected);
  // Second round, the same records in any order: the shortest duration over the ranks; none where a rank that takes
  // part in the communicator has no complete record.
  std::optional<std::int64_t> transfer_ns(std::int64_t rank, std::uint64_t communicator, std::uint64_t sequence,
                                          std::optional<std::int64_t> duration_ns);
  UnmatchedCollectives unmatched() const;  // after both

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const { return (key.first ^ key.second) * 0x9e3779b97f4a7c15ULL; }
  };
  struct Found {
    std::int64_t shortest_ns = 0, last_rank = -1;
    std::size_t ranks = 0;  // with a complete record
  };
  std::unordered_map<Key, Found, Hash> found_;
  std::map<std::uint64_t, std::vector<std::int64_t>> members_;  // by communicator, ascending
  std::int64_t unmatched_ = 0;
  Key first_unmatched_{};
  std::set<std::int64_t> complete_in_first_;  // ranks that have a complete record of it
};

// What the step waited in its collectives, each from its start for its skew; those that wait at once wait once.
std::int64_t waiting_ns(std::vector<Interval> waits, Interval step);

// Both rounds over summaries that are all in memory: sets transfer and skew of their collectives and skew of their
// steps.
struct RankCollectives {
  std::int64_t rank = 0;
  ShardSummary* summary = nullptr;
};
UnmatchedCollectives match_collectives(std::vector<RankCollectives>, std::span<const std::int64_t> ranks_expected);

}  // namespace ddpprof::ingest
