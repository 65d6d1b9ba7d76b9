#include "analysis/import/nsight/rank_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

std::optional<std::int64_t> number(const SessionFacts& facts, std::string_view name) {
  const auto found = facts.environment.find(name);
  if (found == facts.environment.end()) return std::nullopt;
  std::int64_t value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto [stop, error] = std::from_chars(found->second.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

bool alone_in_process(const std::vector<RankPlace>& places, const RankPlace& place) {
  return std::count_if(places.begin(), places.end(),
                       [&](const RankPlace& other) { return other.process == place.process; }) == 1;
}

}  // namespace

std::vector<RankNumber> rank_numbers(const std::vector<RankPlace>& places, const std::vector<NcclMember>& members,
                                     const SessionFacts& facts) {
  std::vector<const NcclMember*> chosen;
  for (const RankPlace& place : places) {
    const NcclMember* best = nullptr;
    for (const NcclMember& member : members) {
      if (member.process != place.process || member.rank < 0 || member.rank >= member.ranks) continue;
      // If a process has one device, its communicator belongs to this device, whatever number the device has in NCCL.
      if (!alone_in_process(places, place) && member.device != place.device) continue;
      if (!best || member.ranks > best->ranks) best = &member;
    }
    if (best) chosen.push_back(best);
  }
  std::set<std::int64_t> ranks;
  for (const NcclMember* member : chosen)
    if (member->communicator == chosen.front()->communicator) ranks.insert(member->rank);
  std::vector<RankNumber> numbers;
  if (!places.empty() && ranks.size() == places.size()) {
    for (const NcclMember* member : chosen) numbers.push_back({member->rank, member->ranks});
    return numbers;
  }
  if (places.size() != 1) return numbers;
  for (const auto& [rank, size] : {std::pair("RANK", "WORLD_SIZE"),
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    const auto of_rank = number(facts, rank), of_world = number(facts, size);
    if (!of_rank || !of_world || *of_rank < 0 || *of_rank >= *of_world || *of_world > most_ranks_of_a_job) continue;
    numbers.push_back({*of_rank, *of_world});
    break;
  }
  return numbers;
}

}  // namespace ddpprof::import
