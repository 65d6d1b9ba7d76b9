#include "analysis/import/recorded/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "tracer/store/shard_reader.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;
using ingest::Severity;

struct Process {
  fs::path path;
  store::ShardInfo info;
  std::uintmax_t bytes = 0;
};

std::string named(const Process& process) {
  return fmt::format("process {} ({}) on {}", process.info.pid, process.info.process, process.info.host);
}

std::string several(std::size_t count) { return fmt::format("{} process{}", count, count == 1 ? "" : "es"); }

// Of one rank's processes the one that trains: no child of another one of them, of those the last to begin.
const Process* training_process(const std::vector<const Process*>& of_rank) {
  std::set<std::pair<std::string, std::int64_t>> ids;
  for (const Process* process : of_rank) ids.emplace(process->info.boot_id, process->info.pid);
  const Process* chosen = nullptr;
  for (const Process* process : of_rank) {
    if (ids.contains({process->info.boot_id, process->info.parent_pid})) continue;
    if (chosen == nullptr || process->info.opened_realtime_ns > chosen->info.opened_realtime_ns) chosen = process;
  }
  return chosen != nullptr ? chosen : of_rank.front();
}

}  // namespace

RecordedJob ranks_of_job(const std::vector<fs::path>& shards) {
  RecordedJob job;
  std::vector<Process> processes;
  for (const fs::path& path : shards) {
    try {
      std::error_code ignored;
      processes.push_back({path, store::ShardReader(path).info(), fs::file_size(path, ignored)});
    } catch (const store::ShardError& error) {
      job.notes.push_back({Severity::error, "shard_unusable", 1, error.what(),
                           "what its process recorded is lost; the other processes are kept"});
    }
  }
  std::map<std::int64_t, std::vector<const Process*>> by_rank;
  std::vector<const Process*> unranked;
  for (const Process& process : processes)
    (process.info.rank >= 0 ? by_rank[process.info.rank] : unranked).push_back(&process);
  for (const auto& [rank, of_rank] : by_rank) {
    const Process* chosen = training_process(of_rank);
    job.ranks.push_back(chosen->path);
    std::size_t children = 0, earlier = 0;
    for (const Process* process : of_rank) {
      if (process == chosen) continue;
      // A child's child counts as one: it began after the rank did.
      ++(process->info.opened_realtime_ns >= chosen->info.opened_realtime_ns ? children : earlier);
    }
    if (children > 0)
      job.notes.push_back(
          {Severity::info, "helpers_left_out", static_cast<std::int64_t>(children),
           fmt::format("rank {} started {} that annotated too, data loaders' workers say", rank, several(children)),
           "their ranges are not in the database; their shards lie beside it"});
    if (earlier > 0)
      job.notes.push_back({Severity::warning, "earlier_attempts", static_cast<std::int64_t>(earlier),
                           fmt::format("rank {} was started more than once: {} counts, {} before it {} left out", rank,
                                       named(*chosen), several(earlier), earlier == 1 ? "is" : "are"),
                           "see the job's own log for why it was started anew"});
  }
  if (!by_rank.empty()) {
    if (!unranked.empty())
      job.notes.push_back({Severity::info, "unranked_left_out", static_cast<std::int64_t>(unranked.size()),
                           fmt::format("{} without RANK annotated too, the first: {}", several(unranked.size()),
                                       named(*unranked.front())),
                           "their ranges are not in the database; their shards lie beside it"});
    return job;
  }
  if (unranked.empty()) return job;
  // Without ranks the process that recorded most is the job.
  const Process* most = *std::max_element(unranked.begin(), unranked.end(), [](const Process* a, const Process* b) {
    return std::pair(a->info.chunks_used, b->info.opened_realtime_ns) <
           std::pair(b->info.chunks_used, a->info.opened_realtime_ns);
  });
  job.ranks.push_back(most->path);
  if (unranked.size() > 1)
    job.notes.push_back({Severity::warning, "several_processes", static_cast<std::int64_t>(unranked.size()),
                         fmt::format("{} annotated and none has a RANK: {}, which recorded most, is taken for the job",
                                     several(unranked.size()), named(*most)),
                         "set RANK and WORLD_SIZE for each process, as torchrun does, if they train together"});
  return job;
}

}  // namespace ddpprof::import
