#include "analysis/import/ranks/host_conditions.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace ddpprof::ranks {
namespace {

constexpr double shortest_window_ns = 1e9;  // processor time: 100 ticks, so that one tick is 1 %

struct OneHost {
  store::HostConditionRow row;
  double cpu_ns = 0.0;
  nlohmann::json machine;  // the host's readings, which one of its ranks reports
};

std::optional<double> at(const nlohmann::json& machine, const char* name, std::size_t index) {
  const auto found = machine.find(name);
  if (found == machine.end() || !found->is_array() || found->size() != 2) return std::nullopt;
  return (*found)[index].get<double>();
}

std::optional<std::int64_t> grown(const nlohmann::json& machine, const char* name) {
  const auto begin = at(machine, name, 0), end = at(machine, name, 1);
  if (!begin || !end) return std::nullopt;
  return static_cast<std::int64_t>(*end - *begin);
}

void add_rank(OneHost& host, const nlohmann::json& conditions) {
  store::HostConditionRow& row = host.row;
  ++row.ranks;
  host.cpu_ns += conditions.value("cpu_ns", 0.0);
  const auto add = [&](std::optional<std::int64_t>& sum, const char* name) {
    if (conditions.contains(name)) sum = sum.value_or(0) + conditions.value(name, std::int64_t{0});
  };
  add(row.voluntary_switches, "voluntary_switches");
  add(row.involuntary_switches, "involuntary_switches");
  add(row.major_faults, "major_faults");
  const bool reports_host = conditions.contains("host") && conditions["host"].is_object();
  if (reports_host || row.window_ns == 0) row.window_ns = conditions.value("window_ns", std::int64_t{0});
  if (reports_host) host.machine = conditions["host"];
}

void add_shares(OneHost& host) {
  store::HostConditionRow& row = host.row;
  const nlohmann::json& machine = host.machine;
  if (!machine.contains("spent_ns")) return;
  row.cpus = machine.value("cpus", std::int64_t{0});
  const auto spent = [&](const char* name) { return machine["spent_ns"].value(name, 0.0); };
  const double total = spent("user") + spent("system") + spent("interrupt") + spent("idle") + spent("steal");
  if (!(total > 0.0)) return;
  row.ranks_share = std::min(1.0, host.cpu_ns / total);
  row.interrupt_share = spent("interrupt") / total;
  row.steal_share = spent("steal") / total;
  if (total >= shortest_window_ns) {
    const double busy = spent("user") + spent("system");
    row.others_share = std::max(0.0, busy - host.cpu_ns) / total;
  }
}

}  // namespace

std::vector<store::HostConditionRow> host_conditions(const RankResults& results) {
  std::map<std::string, OneHost> hosts;
  for (const auto& [rank, result] : results.by_rank) {
    const auto conditions = result.find("conditions");
    if (conditions == result.end() || !conditions->is_object()) continue;
    add_rank(hosts[result.value("host", "")], *conditions);
  }
  std::vector<store::HostConditionRow> rows;
  for (auto& [name, host] : hosts) {
    host.row.host = name;
    if (host.machine.is_object()) {
      add_shares(host);
      host.row.frequency_begin_hz = at(host.machine, "frequency_hz", 0);
      host.row.frequency_end_hz = at(host.machine, "frequency_hz", 1);
      host.row.load_begin = at(host.machine, "load", 0);
      host.row.load_end = at(host.machine, "load", 1);
      host.row.thermal_throttles = grown(host.machine, "thermal_throttles");
      host.row.quota_throttled_ns = grown(host.machine, "quota_throttled_ns");
    }
    rows.push_back(std::move(host.row));
  }
  return rows;
}

}  // namespace ddpprof::ranks
