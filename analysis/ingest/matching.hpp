// Matches the records of one collective on different ranks, to compute its transfer time and each rank's waiting time.
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

// Makes two rounds over the ranks and stores no record between them. So memory grows with the collectives of one rank,
// not with the number of ranks, which may be thousands.
class CollectiveMatcher {
 public:
  // First round, ranks in ascending order. `duration_ns`: nullopt if the record has no start or no end.
  void add(std::int64_t rank, std::uint64_t communicator, std::uint64_t sequence,
           std::optional<std::int64_t> duration_ns);
  // Ends the first round. A communicator without one of `ranks_expected` is unmatched. The list is empty if no shard is
  // missing, so that communicators of sub-groups need only the ranks that use them.
  void close(std::span<const std::int64_t> ranks_expected);
  // Second round, the same records in any order. Returns the shortest duration over the ranks, or nullopt if a rank of
  // the communicator has no complete record.
  std::optional<std::int64_t> transfer_ns(std::int64_t rank, std::uint64_t communicator, std::uint64_t sequence,
                                          std::optional<std::int64_t> duration_ns);
  UnmatchedCollectives unmatched() const;  // after both rounds

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
  std::set<std::int64_t> complete_in_first_;  // ranks with a complete record of first_unmatched_
};

// Returns the step's waiting time: the union of `waits` ([start, start + skew] of each collective), clipped to the
// step.
std::int64_t waiting_ns(std::vector<Interval> waits, Interval step);

// Makes both rounds over summaries in memory: sets transfer and skew of the collectives and skew of the steps.
struct RankCollectives {
  std::int64_t rank = 0;
  ShardSummary* summary = nullptr;
};
UnmatchedCollectives match_collectives(std::vector<RankCollectives>, std::span<const std::int64_t> ranks_expected);

}  // namespace ddpprof::ingest
