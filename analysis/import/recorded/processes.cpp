#include "analysis/import/recorded/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/import/trace/checked.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;
using ingest::Severity;

struct Process {
  fs::path path;
  store::ShardInfo info;
  std::int64_t opened_ns = 0, ended_ns = 0;  // since 1970
};

std::string named(const Process& process) {
  return fmt::format("process {} ({}) on {}", process.info.pid, process.info.process, process.info.host);
}

std::string several(std::size_t count) { return fmt::format("{} process{}", count, count == 1 ? "" : "es"); }

// Finds the last event's time on the process's monotonic clock.
struct LastEvent final : store::ShardVisitor {
  void see(const trace::RecordHeader& header) { last_ns = std::max(last_ns, header.time_ns); }
  void on_push(const trace::EventRecord& record, const store::ExtendedPayload&) override { see(record.header); }
  void on_pop(const trace::PopRecord& record) override { see(record.header); }
  void on_mark(const trace::EventRecord& record, const store::ExtendedPayload&) override { see(record.header); }
  void on_range_start(const trace::RangeStartRecord& record, const store::ExtendedPayload&) override {
    see(record.event.header);
  }
  void on_range_end(const trace::RangeEndRecord& record) override { see(record.header); }
  void on_kernel(const trace::KernelRecord& record) override { see(record.header); }
  void on_copy(const trace::CopyRecord& record) override { see(record.header); }
  void on_api(const trace::ApiRecord& record) override { see(record.header); }
  void on_nccl_operation(const trace::NcclOperationRecord& record) override { see(record.header); }
  void on_nccl_channel(const trace::NcclChannelRecord& record) override { see(record.header); }
  std::int64_t last_ns = 0;
};

// Sets each process's end: the recorded end, or else its last event, which requires a pass over the shard.
void find_ends(std::vector<Process>& processes) {
  for (Process& process : processes) {
    LastEvent last;
    last.last_ns = process.info.closed_monotonic_ns;
    if (last.last_ns == 0) store::ShardReader(process.path).visit(last);
    const std::int64_t lived_ns = last.last_ns - process.info.opened_monotonic_ns;
    process.ended_ns = process.opened_ns + std::clamp(lived_ns, std::int64_t{0}, longest_ns);
  }
}

// A child that was forked while its parent ran, but annotated only after the parent's end, is not a restart: it counts
// as begun in time. The parent is found by the parent shard named in the child's shard, because the child's parent pid
// may have changed.
void place_children(std::vector<Process>& processes) {
  for (Process& child : processes)
    for (const Process& parent : processes)
      if (child.info.parent_pid == parent.info.pid && child.info.boot_id == parent.info.boot_id &&
          child.info.rank == parent.info.rank && parent.opened_ns < child.opened_ns)
        child.opened_ns = std::min(child.opened_ns, parent.ended_ns);
}

using Processes = std::vector<const Process*>;  // ordered by begin

// Groups processes into attempts of the whole job: an attempt has ended before the first process of the next one
// begins.
std::vector<Processes> attempts_of(const Processes& all) {
  std::vector<Processes> attempts;
  std::int64_t until_ns = INT64_MIN;
  for (const Process* process : all) {
    if (attempts.empty() || process->opened_ns > until_ns) attempts.emplace_back();
    attempts.back().push_back(process);
    until_ns = std::max(until_ns, process->ended_ns);
  }
  return attempts;
}

// Definitions are always recorded. A process without a recording window has nothing else.
std::uint64_t recorded_chunks(const Process& process) {
  const store::BoundsInfo& bounds = process.info.bounds;
  return bounds.asked && !bounds.opened ? 0 : process.info.chunks_used;
}

std::uint64_t recorded(const Processes& attempt) {
  std::uint64_t chunks = 0;
  for (const Process* process : attempt) chunks += recorded_chunks(*process);
  return chunks;
}

struct OfRank {
  const Process* chosen = nullptr;
  std::size_t helpers = 0, earlier = 0;
};

// A process of a rank that began while another one ran is its helper, however it was started. A process
// that began after it is a restart of the rank.
OfRank training_process(const Processes& of_rank) {
  OfRank result;
  for (const Process* process : of_rank) {
    if (result.chosen != nullptr && process->opened_ns <= result.chosen->ended_ns) {
      ++result.helpers;
      continue;
    }
    if (result.chosen != nullptr) ++result.earlier;
    result.chosen = process;
  }
  return result;
}

std::map<std::int64_t, Processes> by_rank(const Processes& all) {
  std::map<std::int64_t, Processes> ranks;
  for (const Process* process : all) ranks[process->info.rank].push_back(process);
  return ranks;
}

void note_ranks(const Processes& attempt, RecordedJob& job) {
  for (const auto& [rank, of_rank] : by_rank(attempt)) {
    const OfRank result = training_process(of_rank);
    job.ranks.push_back(result.chosen->path);
    job.numbers.push_back(rank);
    if (result.helpers > 0)
      job.notes.push_back(
          {Severity::info, "helpers_left_out", static_cast<std::int64_t>(result.helpers),
           fmt::format(
               "rank {} is {}; {} with the same RANK annotated at the same time, for example data loaders' workers",
               rank, named(*result.chosen), several(result.helpers)),
           "their ranges are not in the database; if they train, give each a RANK of its own"});
    if (result.earlier > 0)
      job.notes.push_back(
          {Severity::warning, "earlier_attempts", static_cast<std::int64_t>(result.earlier),
           fmt::format("rank {} was started more than once: {} is used, {} before it {} left out", rank,
                       named(*result.chosen), several(result.earlier), result.earlier == 1 ? "is" : "are"),
           "see the job's log for the reason of the restart"});
  }
}

// Returns one attempt of the job: all of its processes, unless ranks occur twice or disagree on their number.
Processes one_attempt(std::vector<Process>& processes, RecordedJob& job) {
  std::set<std::int64_t> ranks, world_sizes;
  for (const Process& process : processes) {
    ranks.insert(process.info.rank);
    world_sizes.insert(process.info.world_size);
  }
  const bool plain = ranks.size() == processes.size() && world_sizes.size() == 1;
  if (!plain) {
    find_ends(processes);
    place_children(processes);
  }
  std::sort(processes.begin(), processes.end(), [](const Process& a, const Process& b) {
    return std::pair(a.opened_ns, a.info.pid) < std::pair(b.opened_ns, b.info.pid);
  });
  Processes all;
  for (const Process& process : processes) all.push_back(&process);
  if (plain) return all;
  const std::vector<Processes> attempts = attempts_of(all);
  const auto most = std::max_element(attempts.begin(), attempts.end(),
                                     [](const Processes& a, const Processes& b) { return recorded(a) <= recorded(b); });
  if (attempts.size() > 1)
    job.notes.push_back({Severity::warning, "earlier_attempts", static_cast<std::int64_t>(attempts.size()) - 1,
                         fmt::format("the job's ranks were started {} times, one after the other: attempt {} is used, "
                                     "which recorded most ({} of {} ranks)",
                                     attempts.size(), most - attempts.begin() + 1, by_rank(*most).size(),
                                     most->front()->info.world_size),
                         "record one training at a time; see the job's log for the reason of the restart"});
  return *most;
}

}  // namespace

RecordedJob ranks_of_job(const std::vector<fs::path>& shards) {
  RecordedJob job;
  std::vector<Process> ranked, unranked;
  for (const fs::path& path : shards) {
    try {
      Process process{path, store::ShardReader(path).info()};
      process.opened_ns = process.info.opened_realtime_ns;
      (process.info.rank >= 0 ? ranked : unranked).push_back(std::move(process));
    } catch (const store::ShardError& error) {
      job.notes.push_back({Severity::error, "shard_unusable", 1, error.what(),
                           "the records of its process are lost; the other processes are imported"});
    }
  }
  if (!ranked.empty()) {
    note_ranks(one_attempt(ranked, job), job);
    if (!unranked.empty())
      job.notes.push_back({Severity::info, "unranked_left_out", static_cast<std::int64_t>(unranked.size()),
                           fmt::format("{} without RANK also annotated, the first is {}", several(unranked.size()),
                                       named(unranked.front())),
                           "their ranges are not in the database"});
    return job;
  }
  if (unranked.empty()) return job;
  // Without ranks, the process with the most records is the job.
  const auto most = std::max_element(unranked.begin(), unranked.end(), [](const Process& a, const Process& b) {
    return std::pair(recorded_chunks(a), b.opened_ns) < std::pair(recorded_chunks(b), a.opened_ns);
  });
  job.ranks.push_back(most->path);
  if (unranked.size() > 1)
    job.notes.push_back({Severity::warning, "several_processes", static_cast<std::int64_t>(unranked.size()),
                         fmt::format("{} annotated without RANK: {} is used as the job, because it recorded most",
                                     several(unranked.size()), named(*most)),
                         "set RANK and WORLD_SIZE for each process, as torchrun does, if they train together"});
  return job;
}

}  // namespace ddpprof::import
