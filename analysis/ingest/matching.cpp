#include "analysis/ingest/matching.hpp"

#include <algorithm>

namespace ddpprof::ingest {

void CollectiveMatcher::add(std::int64_t rank, std::uint64_t communicator, std::uint64_t sequence,
                            std::optional<std::int64_t> duration_ns) {
  std::vector<std::int64_t>& members = members_[communicator];
  if (members.empty() || members.back() != rank) members.push_back(rank);
  Found& found = found_[{communicator, sequence}];
  if (!duration_ns) return;
  found.shortest_ns = found.ranks == 0 ? *duration_ns : std::min(found.shortest_ns, *duration_ns);
  // A second process of the rank may have recorded it again.
  if (found.ranks == 0 || found.last_rank != rank) ++found.ranks;
  found.last_rank = rank;
}

void CollectiveMatcher::close(std::span<const std::int64_t> ranks_expected) {
  for (auto& [communicator, members] : members_) {
    members.insert(members.end(), ranks_expected.begin(), ranks_expected.end());
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
  }
  for (const auto& [key, found] : found_)
    if (found.ranks < members_.at(key.first).size() && (unmatched_++ == 0 || key < first_unmatched_))
      first_unmatched_ = key;
}

std::optional<std::int64_t> CollectiveMatcher::transfer_ns(std::int64_t rank, std::uint64_t communicator,
                                                           std::uint64_t sequence,
                                                           std::optional<std::int64_t> duration_ns) {
  const Key key{communicator, sequence};
  if (unmatched_ > 0 && key == first_unmatched_ && duration_ns) complete_in_first_.insert(rank);
  const Found& found = found_.at(key);
  if (!duration_ns || found.ranks < members_.at(communicator).size()) return std::nullopt;
  return found.shortest_ns;
}

UnmatchedCollectives CollectiveMatcher::unmatched() const {
  UnmatchedCollectives all;
  all.count = unmatched_;
  if (unmatched_ == 0) return all;
  all.first_communicator = first_unmatched_.first;
  all.first_sequence = first_unmatched_.second;
  for (const std::int64_t rank : members_.at(first_unmatched_.first))
    if (!complete_in_first_.contains(rank)) all.first_missing.push_back(rank);
  return all;
}

std::int64_t waiting_ns(std::vector<Interval> waits, Interval step) {
  return total_ns(clip(unite(std::move(waits)), step));
}

UnmatchedCollectives match_collectives(std::vector<RankCollectives> ranks,
                                       std::span<const std::int64_t> ranks_expected) {
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankCollectives& a, const RankCollectives& b) { return a.rank < b.rank; });
  CollectiveMatcher matcher;
  for (const RankCollectives& part : ranks)
    for (const CollectiveSummary& collective : part.summary->collectives)
      matcher.add(part.rank, collective.fact.communicator, collective.fact.sequence, collective.duration_ns());
  matcher.close(ranks_expected);
  for (const RankCollectives& part : ranks) {
    std::map<std::size_t, std::vector<Interval>> waits;
    for (CollectiveSummary& collective : part.summary->collectives) {
      const CollectiveFact& fact = collective.fact;
      const std::optional<std::int64_t> duration_ns = collective.duration_ns();
      collective.transfer_ns = matcher.transfer_ns(part.rank, fact.communicator, fact.sequence, duration_ns);
      if (!collective.transfer_ns) continue;
      collective.skew_ns = *duration_ns - *collective.transfer_ns;
      if (collective.step) waits[*collective.step].push_back({*fact.start_ns, *fact.start_ns + *collective.skew_ns});
    }
    for (auto& [step, intervals] : waits) {
      store::StepRow& row = part.summary->steps[step].row;
      row.skew_ns = waiting_ns(std::move(intervals), {row.start_ns, row.start_ns + row.duration_ns});
    }
  }
  return matcher.unmatched();
}

}  // namespace ddpprof::ingest
