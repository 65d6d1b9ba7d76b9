#include "analysis/fit/nccl_tests/nccl_ranks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
    if (words[i] == "device" && i + 2 < words.size() && words[i + 2].starts_with('['))
      one.gpu = std::string(words[i + 1]) + ' ' + std::string(words[i + 2]);
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
  std::set<std::string> names;
  std::map<std::pair<std::string, std::string>, std::set<std::int64_t>> users;  // of a host name's GPU: ranks
  for (const NcclRank& one : ranks) {
    if (one.group != group) continue;
    members.insert(one.rank);
    if (one.host.empty()) continue;
    names.insert(one.host);
    if (!one.gpu.empty()) users[{one.host, one.gpu}].insert(one.rank);
  }
  std::map<std::string, std::size_t> hosts;  // of each name
  for (const std::string& name : names) hosts[name] = 1;
  for (const auto& [place, of_gpu] : users) hosts[place.first] = std::max(hosts[place.first], of_gpu.size());
  run.ranks = static_cast<std::int64_t>(members.size()) * devices;
  for (const auto& [name, count] : hosts) run.hosts += static_cast<std::int64_t>(count);
  run.host_names.assign(names.begin(), names.end());
  if (run.hosts > static_cast<std::int64_t>(names.size()))
    run.warnings.push_back({"log_host_names",
                            "ranks have the same GPU of the same host name, which NCCL refuses on one host: " +
                                std::to_string(run.hosts) + " hosts are assumed, with " + std::to_string(names.size()) +
                                (names.size() == 1 ? " name" : " different names"),
                            "give each host a name of its own (hostname), and measure again if this is wrong"});
  run.groups = static_cast<std::int64_t>(groups.size());
  if (run.groups > 1)
    run.warnings.push_back({"log_groups",
                            std::to_string(run.groups) +
                                " groups ran at the same time (NCCL_TESTS_SPLIT): N = " + std::to_string(run.ranks) +
                                " is the size of one group, and the groups shared the links between hosts",
                            "for a job of one group, run all_reduce_perf without NCCL_TESTS_SPLIT"});
}

}  // namespace ddpprof::fit
