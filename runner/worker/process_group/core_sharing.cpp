#include "runner/worker/process_group/core_sharing.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "runner/host/cpu.hpp"
#include "runner/host/host.hpp"
#include "runner/host/network.hpp"

namespace ddpprof::worker {
namespace {

struct Place {
  std::string machine;
  std::vector<int> cpus;  // ascending
};

Place read_entry(const std::string& entry) {
  const std::size_t bar = entry.rfind('|');
  if (bar == std::string::npos) return {};
  Place place{entry.substr(0, bar), host::parse_cpu_list(entry.substr(bar + 1))};
  std::sort(place.cpus.begin(), place.cpus.end());
  return place;
}

bool overlap(const std::vector<int>& one, const std::vector<int>& other) {
  std::vector<int> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  return !both.empty();
}

std::vector<int> both_of(const std::vector<int>& one, const std::vector<int>& other) {
  std::vector<int> both;
  std::set_union(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  return both;
}

}  // namespace

std::string core_entry() {
  const host::Host host;
  // The kernel's id: with containers, two machines may have one name, or one machine two names.
  std::string entry = host.line("/proc/sys/kernel/random/boot_id").value.value_or(host::host_name());
  if (const auto quota = host::read_quota(host)) {
    // In containers every path may be "/", so the namespace is used to tell them apart.
    std::error_code error;
    entry += " " + std::filesystem::read_symlink("/proc/self/ns/cgroup", error).string() + quota->folder;
  }
  entry += "|";
  const auto cpus = host::read_cpu(host).allowed;
  bool first = true;
  for (const int cpu : cpus.value.value_or(std::vector<int>{})) {
    entry += (first ? "" : ",") + std::to_string(cpu);
    first = false;
  }
  return entry;
}

CoreShare share_of(const std::vector<std::string>& entries, int rank) {
  const Place own = read_entry(entries.at(static_cast<std::size_t>(rank)));
  CoreShare share;
  share.sharing = 0;
  std::vector<std::vector<int>> beside;  // of this machine
  std::vector<int> all;
  for (const std::string& entry : entries) {
    Place other = read_entry(entry);
    if (other.machine != own.machine) continue;
    if (overlap(own.cpus, other.cpus)) ++share.sharing;
    all = both_of(all, other.cpus);
    beside.push_back(std::move(other.cpus));
  }
  std::vector<int> pool = own.cpus;
  for (std::size_t before = 0; before != pool.size();) {
    before = pool.size();
    for (const std::vector<int>& cpus : beside)
      if (overlap(pool, cpus)) pool = both_of(pool, cpus);
  }
  share.sharing = std::max(1, share.sharing);
  share.host_cores = std::max(1, static_cast<int>(all.size()));
  share.pool = own.machine + "|" + (pool.empty() ? "" : std::to_string(pool.front()));
  share.pool_cores = std::max(1, static_cast<int>(pool.size()));
  return share;
}

CoreShare share_cores(c10d::Store& store, int rank, int world_size) {
  const auto key = [](int of) { return "cores/" + std::to_string(of); };
  store.set(key(rank), core_entry());
  std::vector<std::string> keys, entries;
  for (int of = 0; of < world_size; ++of) keys.push_back(key(of));
  for (const auto& bytes : store.multiGet(keys)) entries.emplace_back(bytes.begin(), bytes.end());
  CoreShare share = share_of(entries, rank);
  if (const auto quota = host::quota_cores(host::Host())) {
    const int granted = std::max(1, static_cast<int>(std::ceil(*quota)));
    share.host_cores = std::min(share.host_cores, granted);
    share.pool_cores = std::min(share.pool_cores, granted);
  }
  return share;
}

}  // namespace ddpprof::worker
