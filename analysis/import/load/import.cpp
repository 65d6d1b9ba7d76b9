#include "analysis/import/load/import.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/import/load/hosts.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/import/load/job_writer.hpp"
#include "analysis/import/load/jobs.hpp"
#include "analysis/import/load/measurement.hpp"
#include "analysis/import/load/reading/read_files.hpp"
#include "analysis/import/load/shared_facts.hpp"
#include "analysis/import/recorded/processes.hpp"

namespace ddpprof::import {
namespace {

using ingest::Severity;
using Paths = std::vector<std::filesystem::path>;

// Keeps the recorded shards of ranks. Returns notes about the other shards.
//
// The shards of one folder are one job. The folders of several hosts are one job as well; they have different ranks.
std::vector<Note> keep_ranks(Paths& files) {
  std::map<std::filesystem::path, Paths> folders;
  std::erase_if(files, [&](const std::filesystem::path& file) {
    if (kind_of(file) != FileKind::shard) return false;
    folders[file.parent_path()].push_back(file);
    return true;
  });
  Paths all, found;
  std::vector<Note> notes;
  std::set<std::int64_t> ranks;
  bool one_job = true;
  std::vector<RecordedJob> jobs;
  for (const auto& [folder, shards] : folders) {
    all.insert(all.end(), shards.begin(), shards.end());
    jobs.push_back(ranks_of_job(shards));
    one_job = one_job && !jobs.back().numbers.empty();
    for (const std::int64_t rank : jobs.back().numbers) one_job = ranks.insert(rank).second && one_job;
  }
  if (one_job && jobs.size() > 1) jobs = {ranks_of_job(all)};
  for (RecordedJob& job : jobs) {
    files.insert(files.end(), job.ranks.begin(), job.ranks.end());
    std::move(job.notes.begin(), job.notes.end(), std::back_inserter(notes));
  }
  return notes;
}

// Options that hold for one job must not be applied to jobs that differ.
void check_options(const ImportOptions& options, const std::vector<JobToWrite>& jobs) {
  const auto refuse = [](const char* option, const char* what, const JobToWrite& one, std::int64_t of_one,
                         const JobToWrite& other, std::int64_t of_other) {
    throw ImportError(fmt::format(
        "{} cannot hold for all jobs of the files: {} has {} {}, and {} {} (expected one job "
        "with this option; option --append adds the next one)",
        option, one.files.front().file.string(), of_one, what, other.files.front().file.string(), of_other));
  };
  const JobToWrite& first = jobs.front();
  for (const JobToWrite& job : jobs) {
    if (options.nodes && job.assignment.world_size != first.assignment.world_size)
      refuse("--nodes", "ranks", first, first.assignment.world_size, job, job.assignment.world_size);
    const auto batch = job.files.front().recorded_batch, of_first = first.files.front().recorded_batch;
    if (options.batch_per_worker && batch && of_first && *batch != *of_first)
      refuse("--batch-per-worker", "samples per rank", first, *of_first, job, *batch);
  }
}

// Gives the files the number of ranks of option --workers.
void set_workers(std::vector<ReadRank>& files, std::int64_t workers) {
  for (ReadRank& file : files) {
    if (file.world_size_stated && *file.world_size != workers)
      throw ImportError(
          fmt::format("--workers {}: {} states that its job has {} ranks (expected files that do not "
                      "state the number of ranks, or the same number)",
                      workers, file.file.string(), *file.world_size));
    file.world_size = workers;
  }
}

// NCCL refuses two ranks on one GPU: a job of more ranks than the hosts that were found have GPUs is on more hosts. A
// process that sees a single GPU does not show how many its host has.
void add_hosts_of_devices(JobToWrite& job) {
  constexpr std::int64_t usual_gpus = 8;
  std::int64_t gpus = 0;
  bool named = false;
  for (const ReadRank& file : job.files) {
    if (file.training.on_device) gpus = std::max(gpus, static_cast<std::int64_t>(file.devices.size()));
    named |= file.recorded || !file.training.shard.info.host.empty() || (file.job && !file.job->boot_id.empty());
  }
  const std::int64_t world_size = job.assignment.world_size;
  if (gpus == 0 || !job.assignment.world_size_known) return;
  if (gpus == 1 && !named && job.hosts == 1 && world_size > usual_gpus)
    job.assignment.notes.push_back({ingest::Severity::warning, "hosts_unknown", world_size,
                                    fmt::format("the number of hosts of the {} ranks is not recorded: one host is "
                                                "assumed, so its links count as links inside a host",
                                                world_size),
                                    "give --nodes"});
  if (gpus < 2 || world_size <= gpus * job.hosts) return;
  const std::int64_t found = std::exchange(job.hosts, (world_size - 1) / gpus + 1);
  job.assignment.notes.push_back({ingest::Severity::warning, "hosts_by_devices", job.hosts,
                                  fmt::format("{} ranks cannot be on {} host{} with {} GPUs each: {} hosts are assumed",
                                              world_size, found, found == 1 ? "" : "s", gpus, job.hosts),
                                  "give --nodes, or record with torch 2.12 or newer, whose traces have host_name"});
}

std::vector<JobToWrite> divide(std::vector<ReadRank> files, const ImportOptions& options) {
  if (options.workers) set_workers(files, *options.workers);
  std::vector<JobToWrite> jobs;
  for (const std::vector<std::size_t>& members : jobs_of(files)) {
    JobToWrite& job = jobs.emplace_back();
    for (const std::size_t i : members) job.files.push_back(std::move(files[i]));
    job.assignment = assign_ranks(job.files);
    std::vector<HostIdentity> hosts;
    for (std::size_t i = 0; i < job.files.size(); ++i)
      if (job.assignment.ranks[i]) hosts.push_back(host_of(job.files[i]));
    job.hosts = options.nodes.value_or(hosts_among(hosts));
    if (!options.nodes) {
      add_hosts_of_devices(job);
      if (std::optional<Note> note = note_on_shared_machine(hosts)) job.notes.push_back(std::move(*note));
    }
  }
  return jobs;
}

// Jobs whose ranks have equal times, to the nanosecond, are the same traces given twice. Jobs of one size that ran at
// the same time of day may be ranks of one job, whose files do not say so.
void note_jobs_at_once(std::vector<JobToWrite>& jobs) {
  constexpr std::int64_t year_2001_ns = 1'000'000'000'000'000'000;
  struct Times {
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> of_files;
    std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, batch = 0;
  };
  std::vector<Times> all;
  for (const JobToWrite& job : jobs) {
    Times& times = all.emplace_back();
    for (const ReadRank& file : job.files) {
      const store::EventSpan& events = file.training.shard.events;
      if (events.last_ns <= events.first_ns) continue;
      times.of_files.emplace(file.base_ns, events.first_ns, events.last_ns);
      times.first_ns = std::min(times.first_ns, file.base_ns + events.first_ns);
      times.last_ns = std::max(times.last_ns, file.base_ns + events.last_ns);
      times.batch = file.training.batch_per_worker;
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Times &one = all[j], &other = all[i];
      if (one.of_files.empty() || other.of_files.empty() || one.batch != other.batch ||
          jobs[i].assignment.world_size != jobs[j].assignment.world_size)
        continue;
      const auto add = [&](const char* code, const char* message, const char* advice) {
        jobs[i].assignment.notes.push_back({Severity::warning, code, 1,
                                            fmt::format("{} and {} {}", jobs[j].files.front().file.string(),
                                                        jobs[i].files.front().file.string(), message),
                                            advice});
      };
      const std::int64_t common_ns = std::min(one.last_ns, other.last_ns) - std::max(one.first_ns, other.first_ns);
      const std::int64_t shorter_ns = std::min(one.last_ns - one.first_ns, other.last_ns - other.first_ns);
      if (one.of_files == other.of_files)
        add("same_job", "have the same times: the same traces were given twice, and count as two repeats",
            "import each trace once: copies make intervals narrower than they are");
      else if (one.first_ns > year_2001_ns && common_ns > shorter_ns / 2)
        add("jobs_at_once", "ran at the same time: they count as two repeats, and may be ranks of one job",
            "if they are one job, give files whose names have the ranks of the job in one folder, or --workers N");
    }
}

ImportResult import_into(store::Database& database, const ImportOptions& options, std::vector<Note> notes) {
  ReadFiles read = read_files(database, options);
  std::vector<JobToWrite> jobs = divide(std::move(read.ranks), options);
  check_options(options, jobs);
  note_jobs_at_once(jobs);
  for (const std::string& why : read.unusable)
    notes.push_back({Severity::error, "file_unusable", 1, why, "the other files are imported without it"});
  std::move(notes.begin(), notes.end(), std::back_inserter(jobs.front().notes));
  std::vector<JobOutline> outlines;
  for (const JobToWrite& job : jobs) {
    const auto first = std::ranges::find_if(job.assignment.ranks, [](const auto& rank) { return rank.has_value(); });
    outlines.push_back({&job.files[static_cast<std::size_t>(first - job.assignment.ranks.begin())],
                        job.assignment.world_size, job.hosts});
  }
  const SharedFacts shared(database, options, outlines);
  shared.update_earlier(database);
  ImportResult result;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ImportedJob job = write_job(database, options, std::move(jobs[i]), read.first_shard, shared, i);
    if (i == 0) result.measurement_id = job.measurement_id;
    result.ranks += job.ranks;
    result.world_size = std::max(result.world_size, job.world_size);
    result.steps += job.steps;
    result.events += job.events;
    result.jobs.push_back(job);
  }
  return result;
}

}  // namespace

ImportResult import_traces(store::Database& database, const ImportOptions& asked) {
  if (asked.files.empty()) throw ImportError("no file to import");
  ImportOptions options = asked;
  const std::vector<Note> left_out = keep_ranks(options.files);
  if (options.files.empty()) throw ImportError(fmt::format("{}", left_out.front().message));
  // With one malloc arena per thread, each arena would keep the memory freed by reading, and fits would add to it.
  mallopt(M_ARENA_MAX, 1);
  try {
    store::BulkLoad load(database);
    const ImportResult result = import_into(database, options, left_out);
    load.commit();
    malloc_trim(0);  // memory freed by many threads stays in their arenas and would add to what fits allocate next
    return result;
  } catch (const SQLite::Exception& failure) {
    throw store::translate(failure, database.path());
  }
}

}  // namespace ddpprof::import
