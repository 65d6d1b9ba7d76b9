#include "analysis/fit/nccl_tests/nccl_ranks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/fit/nccl_tests/nccl_line.hpp"

namespace ddpprof::fit {
void add_nccl_rank(const std::vector<std::string_view>& words, std::vector<NcclRank>& ranks) {
  NcclRank one;
  const auto rank = words.size() < 2 ? std::nullopt : number_of<std::int64_t>(words[1]);
  if (!rank) return;
  one.rank = *rank;
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i] == "Group") one.group = number_of<std::int64_t>(words[i + 1]).value_or(one.group);
    if (words[i] == "on" && one.host.empty()) one.host = std::string(words[i + 1]);
  }
  ranks.push_back(std::move(one));
}

void set_nccl_ranks(const std::vector<NcclRank>& ranks, std::int64_t devices, NcclTestsRun& run) {
  if (ranks.empty()) return;
  std::map<std::int64_t, std::int64_t> copies;  // of each rank
  std::set<std::int64_t> groups;
  for (const NcclRank& one : ranks) {
    run.copies = std::max(run.copies, ++copies[one.rank]);
    groups.insert(one.group);
  }
  const std::int64_t group = std::ranges::min_element(ranks, {}, [](const NcclRank& one) { return one.rank; })->group;
  std::set<std::int64_t> members;
  std::set<std::string> hosts;
  for (const NcclRank& one : ranks) {
    if (one.group != group) continue;
    members.insert(one.rank);
    if (!one.host.empty()) hosts.insert(one.host);
  }
  run.ranks = static_cast<std::int64_t>(members.size()) * devices;
  run.hosts = static_cast<std::int64_t>(hosts.size());
  run.host_names.assign(hosts.begin(), hosts.end());
  run.groups = static_cast<std::int64_t>(groups.size());
  if (run.groups > 1)
    run.warnings.push_back({"log_groups",
                            std::to_string(run.groups) +
                                " groups ran at the same time (NCCL_TESTS_SPLIT): N = " + std::to_string(run.ranks) +
                                " is the size of one group, and the groups shared the links between hosts",
                            "for a job of one group, run all_reduce_perf without NCCL_TESTS_SPLIT"});
}

}  // namespace ddpprof::fit
