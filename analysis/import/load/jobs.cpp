#include "analysis/import/load/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "analysis/import/load/ranks.hpp"

namespace ddpprof::import {
namespace {

using Job = std::vector<std::size_t>;  // files, ascending

constexpr std::int64_t earliest_time_of_day_ns =
    1'000'000'000'000'000'000;  // since 1970; smaller times are not times of day

struct TimeOfDay {
  std::int64_t first_ns = 0, last_ns = 0;  // since 1970
};

// Returns the times of the file's first and last event on the file's clock.
TimeOfDay times_of(const ReadRank& file) {
  store::EventSpan span = file.training.shard.events;
  if (!file.training.device_times.empty()) {
    const Window& all = file.training.device_times.front().window;
    span.add(all.start_ns);
    span.add(all.end_ns);
  }
  return {file.base_ns + span.first_ns, file.base_ns + span.last_ns};
}

bool overlap(const TimeOfDay& one, const TimeOfDay& other) {
  return one.first_ns <= other.last_ns && other.first_ns <= one.last_ns;
}

// Returns the times of the file's first and last event; none if the file's clock is not the time of day.
std::optional<TimeOfDay> time_of_day(const ReadRank& file) {
  const TimeOfDay time = times_of(file);
  return time.first_ns >= earliest_time_of_day_ns && time.last_ns >= time.first_ns ? std::optional(time) : std::nullopt;
}

class JobFinder {
 public:
  explicit JobFinder(std::span<const ReadRank> files) : files_(files) {}

  std::vector<Job> run() const {
    std::map<std::filesystem::path, Job> folders;
    for (std::size_t i = 0; i < files_.size(); ++i) folders[folder_of(files_[i])].push_back(i);
    std::vector<Job> jobs;
    for (const auto& [folder, files] : folders) append(jobs, by_stated_size(files));
    if (folders.size() > 1) join_folders(jobs);
    std::sort(jobs.begin(), jobs.end());
    return jobs;
  }

 private:
  static std::filesystem::path folder_of(const ReadRank& file) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(file.file, error);
    return (error ? file.file : whole).parent_path();
  }

  static void append(std::vector<Job>& jobs, std::vector<Job> more) {
    std::move(more.begin(), more.end(), std::back_inserter(jobs));
  }

  std::string named(const Job& job) const {
    const ReadRank& file = files_[job.front()];
    const auto rank = known_rank(file);
    if (!rank && !file.world_size) return file.file.string();
    return fmt::format("{} ({}{})", file.file.string(), rank ? fmt::format("rank {}", *rank) : "a rank",
                       file.world_size ? fmt::format(" of {}", *file.world_size) : "");
  }

  [[noreturn]] void refuse(const Job& one, const Job& other, const char* why) const {
    throw ImportError(
        fmt::format("{} and {} may belong to one job or to two: {} (expected the files of each job in a folder of its "
                    "own, or one job; option --append adds the next one)",
                    named(one), named(other), why));
  }

  std::set<std::int64_t> ranks_of(const Job& job) const {
    std::set<std::int64_t> ranks;
    for (const std::size_t i : job)
      if (const auto rank = known_rank(files_[i])) ranks.insert(*rank);
    return ranks;
  }

  std::optional<std::int64_t> size_of(const Job& job) const {
    std::optional<std::int64_t> size;
    for (const std::size_t i : job) size = std::max(size, files_[i].world_size);
    return size;
  }

  // Returns true if the files cannot be different ranks of one job.
  bool conflict(const Job& job) const {
    std::size_t known = 0;
    for (const std::size_t i : job) known += known_rank(files_[i]) ? 1 : 0;
    const auto size = size_of(job);
    return ranks_of(job).size() < known || (size && static_cast<std::int64_t>(job.size()) > *size);
  }

  Job both(const Job& a, const Job& b) const {
    Job all = a;
    all.insert(all.end(), b.begin(), b.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  // Files were divided although two of the parts may be ranks of one job.
  void check_parts(const std::vector<Job>& parts, const char* why) const {
    for (std::size_t a = 0; a < parts.size(); ++a)
      for (std::size_t b = a + 1; b < parts.size(); ++b)
        if (!conflict(both(parts[a], parts[b]))) refuse(parts[a], parts[b], why);
  }

  template <class Key>
  std::vector<Job> parts_by(const Job& job, Key&& key_of) const {
    std::map<decltype(key_of(files_[0])), Job> parts;
    for (const std::size_t i : job) parts[key_of(files_[i])].push_back(i);
    std::vector<Job> all;
    for (auto& [key, part] : parts) all.push_back(std::move(part));
    return all;
  }

  std::vector<Job> by_stated_size(const Job& folder) const {
    std::map<std::int64_t, Job> sizes;
    Job unstated;
    for (const std::size_t i : folder)
      (files_[i].world_size_stated ? sizes[files_[i].world_size.value_or(1)] : unstated).push_back(i);
    if (sizes.size() < 2) return by_time(folder);
    for (const std::size_t i : unstated) {
      const auto own = sizes.find(files_[i].world_size.value_or(0));
      if (own == sizes.end()) refuse({i}, sizes.begin()->second, "their folder has jobs of several numbers of ranks");
      own->second.push_back(i);
    }
    std::vector<Job> jobs;
    for (auto& [size, part] : sizes) {
      std::sort(part.begin(), part.end());
      append(jobs, by_time(part));
    }
    return jobs;
  }

  std::vector<Job> by_time(const Job& job) const {
    const bool single = job.size() > 1 && std::ranges::all_of(job, [&](auto i) { return of_one_process(files_[i]); });
    if (!conflict(job) && !single) return {job};
    std::vector<std::pair<TimeOfDay, std::size_t>> times;
    for (const std::size_t i : job)
      if (const auto time = time_of_day(files_[i])) times.emplace_back(*time, i);
    if (times.size() < job.size()) return by_size(job);
    std::sort(times.begin(), times.end(),
              [](const auto& a, const auto& b) { return a.first.first_ns < b.first.first_ns; });
    std::vector<Job> parts;
    std::int64_t until_ns = INT64_MIN;
    for (const auto& [time, file] : times) {
      if (parts.empty() || time.first_ns > until_ns) parts.emplace_back();
      parts.back().push_back(file);
      until_ns = std::max(until_ns, time.last_ns);
    }
    if (single) return parts;
    for (Job& part : parts) std::sort(part.begin(), part.end());
    check_parts(parts, "their folder has several jobs, and they ran at different times");
    std::vector<Job> jobs;
    for (const Job& part : parts) append(jobs, by_size(part));
    return jobs;
  }

  std::vector<Job> by_size(const Job& job) const {
    if (!conflict(job)) return {job};
    const std::vector<Job> sizes = parts_by(job, [](const ReadRank& file) { return file.world_size; });
    if (sizes.size() > 1 && !files_[sizes.front().front()].world_size)
      refuse(sizes.front(), sizes.back(), "their folder has several jobs, and one file has no number of ranks");
    std::vector<Job> jobs;
    for (const Job& part : sizes) append(jobs, by_facts(part));
    return jobs;
  }

  std::vector<Job> by_facts(const Job& job) const {
    if (!conflict(job)) return {job};
    std::vector<Job> parts = parts_by(job, [](const ReadRank& file) {
      const Training& training = file.training;
      return std::tuple(training.batch_per_worker, training.accumulation, training.parameter_bytes, file.backend,
                        training.on_device);
    });
    check_parts(parts, "their folder has several jobs, and they differ in batch, gradients, backend or devices");
    return parts;
  }

  // A file may lack a fact. Without data parallelism, ranks may hold different parts of the model.
  bool alike(const Job& a, const Job& b) const {
    const ReadRank &one = files_[a.front()], &other = files_[b.front()];
    const Training &x = one.training, &y = other.training;
    const auto equal = [](std::int64_t p, std::int64_t q) { return p == q || p == 0 || q == 0; };
    const bool replicas = x.parallelism == Parallelism::data && y.parallelism == Parallelism::data;
    return size_of(a) == size_of(b) && one.backend == other.backend && x.on_device == y.on_device &&
           one.recorded == other.recorded && x.accumulation == y.accumulation &&
           equal(x.batch_per_worker, y.batch_per_worker) && (!replicas || equal(x.parameter_bytes, y.parameter_bytes));
  }

  // Returns true if both lack ranks that the other may have.
  bool complementary(const Job& a, const Job& b) const {
    if (!alike(a, b) || conflict(both(a, b))) return false;
    if (size_of(a)) return true;
    const std::set<std::int64_t> ranks = ranks_of(both(a, b));
    const auto lacks = [&](const Job& job) {  // a rank below its last one, or all ranks are unknown
      const std::set<std::int64_t> own = ranks_of(job);
      return own.empty() || *own.rbegin() + 1 > static_cast<std::int64_t>(own.size());
    };
    return lacks(a) || lacks(b);
  }

  // Returns true if the times of both overlap; none: a file's time of day is not known.
  std::optional<bool> at_one_time(const Job& a, const Job& b) const {
    bool any = false;
    for (const std::size_t i : a)
      for (const std::size_t j : b) {
        const auto one = time_of_day(files_[i]), other = time_of_day(files_[j]);
        if (!one || !other) return std::nullopt;
        any = any || overlap(*one, *other);
      }
    return any;
  }

  bool single_process(const Job& job) const { return job.size() == 1 && of_one_process(files_[job.front()]); }

  // Returns true if the ranks of both are those of their files' names, are equal, and may be ranks of a host: the jobs
  // ran at the same time, or their clocks show the same times.
  bool may_have_ranks_of_hosts(const Job& a, const Job& b) const {
    const Job all = both(a, b);
    if (!alike(a, b) || !conflict(all)) return false;
    const auto named = [&](std::size_t i) {
      const ReadRank& file = files_[i];
      return !file.rank && known_rank(file) && !file.recorded && !file.training.shard.collectives.empty();
    };
    if (!std::ranges::all_of(all, named)) return false;
    const auto complete = [&](const Job& job) {
      const std::optional<std::int64_t> size = size_of(job);
      return size && static_cast<std::int64_t>(ranks_of(job).size()) == *size;
    };
    if (complete(a) && complete(b)) return false;
    if (const std::optional<bool> known = at_one_time(a, b)) return *known;
    return std::ranges::all_of(a, [&](std::size_t i) {
      return std::ranges::any_of(b, [&](std::size_t j) { return overlap(times_of(files_[i]), times_of(files_[j])); });
    });
  }

  // Joins jobs of different folders for which `may_join` holds. Throws ImportError if a job fits several others that
  // exclude each other.
  template <class MayJoin>
  void join_where(std::vector<Job>& jobs, const MayJoin& may_join) const {
    for (std::size_t a = 0; a < jobs.size(); ++a)
      for (;;) {
        std::vector<std::size_t> partners;
        Job all = jobs[a];
        for (std::size_t b = 0; b < jobs.size(); ++b)
          if (b != a && complementary(jobs[a], jobs[b]) && may_join(jobs[a], jobs[b])) {
            partners.push_back(b);
            all = both(all, jobs[b]);
          }
        if (partners.empty()) break;
        if (conflict(all)) refuse(jobs[a], jobs[partners.front()], "files of other folders fit the first one as well");
        for (auto b = partners.rbegin(); b != partners.rend(); ++b) {
          jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(*b));
          if (*b < a) --a;
        }
        jobs[a] = std::move(all);
      }
  }

  // Each host of a job may have a folder of its own.
  void join_folders(std::vector<Job>& jobs) const {
    join_where(jobs, [&](const Job& a, const Job& b) { return at_one_time(a, b).value_or(false); });
    join_where(jobs, [&](const Job& a, const Job& b) {
      return !at_one_time(a, b) && !single_process(a) && !single_process(b);
    });
    for (std::size_t a = 0; a < jobs.size(); ++a)
      for (std::size_t b = a + 1; b < jobs.size(); ++b)
        if (complementary(jobs[a], jobs[b]) && !single_process(jobs[a]) && !single_process(jobs[b]))
          refuse(jobs[a], jobs[b], "they are in different folders, and ran at different times");
    for (std::size_t a = 0; a < jobs.size(); ++a)
      for (std::size_t b = a + 1; b < jobs.size(); ++b)
        if (may_have_ranks_of_hosts(jobs[a], jobs[b]))
          refuse(jobs[a], jobs[b],
                 "their ranks are known by their names alone, and they ran at the same time, so the names may have the "
                 "ranks of each host; if this is one job, name its files after the ranks of the job");
  }

  std::span<const ReadRank> files_;
};

}  // namespace

std::optional<std::int64_t> known_rank(const ReadRank& file) {
  if (file.rank) return file.rank;
  return file.part.empty() ? rank_in_name(file.file) : std::nullopt;
}

bool of_one_process(const ReadRank& file) {
  return !known_rank(file) && !file.world_size && file.part.empty() && file.training.shard.collectives.empty();
}

std::vector<std::vector<std::size_t>> jobs_of(std::span<const ReadRank> files) { return JobFinder(files).run(); }

}  // namespace ddpprof::import
