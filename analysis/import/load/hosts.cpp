#include "analysis/import/load/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ddpprof::import {

std::int64_t hosts_among(std::span<const HostIdentity> ranks) {
  std::set<std::string> hosts;
  for (const HostIdentity& rank : ranks) {
    const std::string& host = rank.machine.empty() ? rank.name : rank.machine;
    if (!host.empty()) hosts.insert(host);
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(hosts.size()));
}

std::optional<Note> note_on_shared_machine(std::span<const HostIdentity> ranks) {
  std::map<std::string, std::set<std::string>> networks, names;  // by machine
  for (const HostIdentity& rank : ranks) {
    if (rank.machine.empty()) continue;
    if (!rank.network.empty()) networks[rank.machine].insert(rank.network);
    names[rank.machine].insert(rank.name);
  }
  std::size_t parts = 0, shared = 0;  // parts: of all machines
  bool by_network = false;
  for (const auto& [machine, different] : names) {
    const auto of_machine = networks.find(machine);
    const bool known = of_machine != networks.end();
    const std::size_t number = known ? of_machine->second.size() : different.size();
    parts += number;
    shared = std::max(shared, number);
    by_network = by_network || (known && number > 1);
  }
  if (shared < 2) return std::nullopt;
  return Note{
      ingest::Severity::warning, "hosts_share_a_machine", static_cast<std::int64_t>(shared),
      fmt::format("ranks with {} different {} ran on one machine, as containers do. They count as one host: its "
                  "cores are shared, and communication between them counts as communication inside a host",
                  shared, by_network ? "networks (network namespaces)" : "host names"),
      fmt::format("if they stand for hosts of their own, give the number of hosts: --nodes {}, or in a scenario "
                  "file workload.nodes",
                  parts)};
}

}  // namespace ddpprof::import
