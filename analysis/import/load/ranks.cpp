#include "analysis/import/load/ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/import/load/jobs.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::import {
namespace {

using ingest::CollectiveFact;
using ingest::LoadedShard;
using ingest::Severity;
using Kind = std::pair<std::int32_t, std::int64_t>;  // operation, bytes

// Returns the facts of one communicator in the order of their numbers.
std::vector<CollectiveFact*> of_communicator(LoadedShard& shard, std::uint64_t communicator) {
  std::vector<CollectiveFact*> facts;
  for (CollectiveFact& fact : shard.trace.collectives)
    if (fact.communicator == communicator) facts.push_back(&fact);
  return facts;
}

std::int64_t begun_ns(const CollectiveFact& fact) {
  return fact.launch_ns ? *fact.launch_ns : fact.start_ns.value_or(0);
}

// Returns the step of the shard in which a collective began; none if it began before the first step.
std::optional<std::int64_t> step_of(const LoadedShard& shard, const CollectiveFact& fact) {
  const std::vector<ingest::StepFact>& steps = shard.trace.steps;
  const auto after = std::upper_bound(steps.begin(), steps.end(), begun_ns(fact),
                                      [](std::int64_t t, const ingest::StepFact& s) { return t < s.time.start_ns; });
  return after == steps.begin() ? std::nullopt : std::optional(std::prev(after)->step);
}

struct Member {
  LoadedShard* shard = nullptr;
  std::vector<CollectiveFact*> facts;
};

// Returns true if equal numbers mean the same collective on all members: the kinds and the sizes agree and, if numbers
// were counted rather than recorded, the steps agree. The step matters because recordings that began one step apart
// hold the same kinds in the same order.
bool agree(const std::vector<Member>& members, bool recorded) {
  using What = std::tuple<Kind, std::optional<std::int64_t>>;
  std::map<std::uint64_t, What> known;
  for (const Member& member : members)
    for (const CollectiveFact* fact : member.facts) {
      const What what{{fact->op, fact->bytes}, recorded ? std::nullopt : step_of(*member.shard, *fact)};
      const auto [other, fresh] = known.try_emplace(fact->sequence, what);
      if (!fresh && other->second != what) return false;
    }
  // Counted numbers also require equal counts. Otherwise a trace that began later could be taken for one that ended
  // earlier.
  return recorded || std::all_of(members.begin(), members.end(), [&](const Member& member) {
           return member.facts.size() == members.front().facts.size();
         });
}

void number_by_step(const LoadedShard& shard, std::vector<CollectiveFact*> facts) {
  // NCCL's own numbers are kept per function: one rank may have them and another rank a count by time.
  std::stable_sort(facts.begin(), facts.end(),
                   [](const CollectiveFact* a, const CollectiveFact* b) { return begun_ns(*a) < begun_ns(*b); });
  const std::vector<ingest::StepFact>& steps = shard.trace.steps;
  constexpr std::uint64_t places = std::uint64_t{1} << 24;  // limit of collectives per step
  std::map<std::uint64_t, std::uint64_t> next;
  for (CollectiveFact* fact : facts) {
    const auto after = std::upper_bound(steps.begin(), steps.end(), begun_ns(*fact),
                                        [](std::int64_t t, const ingest::StepFact& s) { return t < s.time.start_ns; });
    // Collectives before the first step are numbered from 0, so that they do not collide with a step's numbers.
    const std::uint64_t step =
        after == steps.begin() ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::prev(after)->step)) + 1;
    fact->sequence = step * places + next[step]++;
  }
}

std::string name_of(const ReadRank& file) {
  const std::string name = file.file.filename().string();
  return file.part.empty() ? name : fmt::format("{} ({})", name, file.part);
}

// Processes that ran at the same time without any sign of other ranks may be separate jobs: their number is not N.
void judge_processes(std::span<const ReadRank> files, RankAssignment& assignment, std::size_t ranks) {
  if (ranks < 2 || !std::ranges::all_of(files, of_one_process)) return;
  assignment.world_size_known = false;
  assignment.notes.push_back(
      {Severity::warning, store::world_size_unknown, static_cast<std::int64_t>(ranks),
       fmt::format("the number of ranks N is not recorded, and nothing shows that the processes of the {} files "
                   "communicate. They may be separate jobs, so throughput, global batch, efficiency and learning rate "
                   "are not shown",
                   ranks),
       "separate jobs: import each file alone, the later ones with --append; ranks of one job: give --workers N"});
}

// Without a recorded number of ranks, the files are all ranks if they are at least two and have the ranks from 0 on. A
// job without any collective has one rank.
void judge_world_size(std::span<const ReadRank> files, RankAssignment& assignment, std::size_t ranks) {
  const bool recorded = std::ranges::any_of(files, [](const ReadRank& file) { return file.world_size.has_value(); });
  const bool communicates = std::ranges::any_of(files, [](const ReadRank& file) {
    return !file.training.shard.collectives.empty() ||
           std::ranges::find(file.training.notes, store::collective_kernels_unknown, &Note::code) !=
               file.training.notes.end();
  });
  if (recorded) return;
  if (!communicates) return judge_processes(files, assignment, ranks);
  constexpr const char* advice =
      "give --workers N, or record with torch.profiler of torch 2.1 or newer after "
      "init_process_group: traces then have distributedInfo";
  if (assignment.missing.empty() && ranks > 1) {
    assignment.notes.push_back({Severity::info, "world_size_by_files", static_cast<std::int64_t>(ranks),
                                fmt::format("the number of ranks is not recorded: N = {}, the number of ranks with a "
                                            "file, is assumed",
                                            ranks),
                                "give --workers N if there were more ranks"});
    return;
  }
  assignment.world_size_known = false;
  assignment.missing.clear();
  assignment.world_size = std::max<std::int64_t>(2, assignment.world_size);
  assignment.notes.push_back(
      {Severity::warning, store::world_size_unknown, 1,
       "the number of ranks N is not recorded: the job communicates, but neither distributedInfo nor the groups of its "
       "collectives give N; throughput, global batch, efficiency and learning rate depend on N and are not shown",
       advice});
}

}  // namespace

constexpr std::int64_t largest_rank_in_name = 99'999;

std::optional<std::int64_t> rank_in_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  std::optional<std::int64_t> found;
  for (std::size_t at = name.find("rank"); at != std::string::npos; at = name.find("rank", at + 1)) {
    if (at > 0 && std::isalpha(static_cast<unsigned char>(name[at - 1])) != 0) continue;  // "frank-2024"
    // "local_rank3" is the place on a host, "node_rank1" the host.
    const std::string_view before = std::string_view(name).substr(0, at > 0 ? at - 1 : 0);
    if (before.ends_with("local") || before.ends_with("node") || before.ends_with("group")) continue;
    std::size_t digits = at + 4;
    while (digits < name.size() && (name[digits] == '_' || name[digits] == '-' || name[digits] == '=')) ++digits;
    std::int64_t rank = 0;
    const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
    // More digits are a date or a time.
    if (error == std::errc{} && rank >= 0 && rank <= largest_rank_in_name) found = rank;
  }
  return found;
}

RankAssignment assign_ranks(std::span<const ReadRank> files) {
  RankAssignment assignment;
  std::map<std::int64_t, const ReadRank*> taken;
  std::vector<std::string> by_order;
  assignment.ranks.resize(files.size());
  std::vector<bool> decided(files.size(), false);
  const auto give = [&](std::size_t i, std::int64_t rank) {
    decided[i] = true;
    const auto [other, fresh] = taken.emplace(rank, &files[i]);
    if (fresh) {
      assignment.ranks[i] = rank;
      return;
    }
    assignment.notes.push_back({Severity::error, "rank_twice", 1,
                                fmt::format("{} and {} both have rank {}: the second file is left out",
                                            name_of(*other->second), name_of(files[i]), rank),
                                "import the files of one run at a time"});
  };
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].rank) give(i, *files[i].rank);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!decided[i] && files[i].part.empty())
      if (const auto rank = rank_in_name(files[i].file)) give(i, *rank);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (decided[i]) continue;
    while (taken.contains(next)) ++next;
    by_order.push_back(fmt::format("{} is rank {}", name_of(files[i]), next));
    give(i, next);
  }
  // Devices of one file are ordered anyway. Files are in the order in which the user named them.
  const bool one_file = std::all_of(files.begin(), files.end(), [&](const ReadRank& rank) {
    return !rank.part.empty() && rank.file == files.front().file;
  });
  if (!by_order.empty() && files.size() > 1)
    assignment.notes.push_back(
        {one_file ? Severity::info : Severity::warning, "rank_by_order", static_cast<std::int64_t>(by_order.size()),
         fmt::format("the files and their names contain no rank; ranks are assigned in the order of the files: {}",
                     fmt::join(by_order, ", ")),
         one_file ? "the order is by device, then by process; record from the start of the job, so that NCCL's "
                    "communicators give the ranks"
                  : "name them rank0.json, rank1.json, …"});
  assignment.world_size = taken.empty() ? 1 : taken.rbegin()->first + 1;
  for (const ReadRank& file : files)
    assignment.world_size = std::max(assignment.world_size, file.world_size.value_or(1));
  if (!by_order.empty() && files.size() == 1 && assignment.world_size > 1)
    assignment.notes.push_back({Severity::warning, "rank_unknown", 1,
                                fmt::format("{} and its name contain no rank: it is used as rank 0 of {}",
                                            name_of(files.front()), assignment.world_size),
                                "name the file rank3.json, for example, if its rank is 3"});
  std::int64_t unlike = 0;
  std::string who;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (assignment.ranks[i] && files[i].world_size.value_or(assignment.world_size) != assignment.world_size &&
        ++unlike <= 16)
      who += fmt::format("{}{} is rank {} of {}", who.empty() ? "" : ", ", files[i].file.filename().string(),
                         *assignment.ranks[i], *files[i].world_size);
  if (unlike > 0)
    assignment.notes.push_back(
        {Severity::warning, "world_size_unlike", unlike,
         fmt::format("the files disagree about the number of ranks; {} is used: {}", assignment.world_size, who),
         "import the files of one run at a time"});
  // Times of the host and times of devices have no common mean.
  if (std::ranges::any_of(files, [](const ReadRank& file) { return file.training.on_device; }))
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (!files[i].training.device_not_recorded || !assignment.ranks[i]) continue;
      assignment.notes.push_back({Severity::warning, "rank_without_devices", 1,
                                  fmt::format("{} (rank {}) has no times of its devices, and other ranks have them: it "
                                              "is left out",
                                              name_of(files[i]), *assignment.ranks[i]),
                                  "record the devices of all ranks: check that CUPTI or ROCTracer works on each host"});
      taken.erase(*assignment.ranks[i]);
      assignment.ranks[i].reset();
    }
  for (std::int64_t rank = 0; rank < assignment.world_size && assignment.world_size <= (std::int64_t{1} << 20); ++rank)
    if (!taken.contains(rank)) assignment.missing.push_back(rank);
  judge_world_size(files, assignment, taken.size());
  return assignment;
}

void share_assumed_sizes(std::span<LoadedShard> shards) {
  struct Buckets {
    std::map<std::int32_t, std::int64_t> bytes;  // by bucket
    double total_ns = 0.0, count = 0.0;
    double mean_ns() const { return count > 0.0 ? total_ns / count : 0.0; }
  };
  std::vector<Buckets> all;
  for (const LoadedShard& shard : shards) {
    Buckets& own = all.emplace_back();
    for (const CollectiveFact& fact : shard.trace.collectives) {
      if (fact.bucket < 0 || !fact.start_ns || !fact.end_ns) continue;
      own.bytes.emplace(fact.bucket, fact.bytes);
      own.total_ns += static_cast<double>(*fact.end_ns - *fact.start_ns);
      own.count += 1.0;
    }
  }
  const auto shortest = std::ranges::min_element(all, {}, [](const Buckets& one) {
    return one.count > 0.0 ? one.mean_ns() : std::numeric_limits<double>::infinity();
  });
  if (shortest == all.end()) return;
  const LoadedShard& from = shards[static_cast<std::size_t>(shortest - all.begin())];
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (&shards[i] == &from || all[i].bytes.size() != shortest->bytes.size()) continue;
    for (CollectiveFact& fact : shards[i].trace.collectives)
      if (const auto found = shortest->bytes.find(fact.bucket); found != shortest->bytes.end())
        fact.bytes = found->second;
    shards[i].trace.parameters = from.trace.parameters;
    shards[i].trace.members = from.trace.members;
  }
}

std::int64_t number_collectives(std::span<LoadedShard> shards, bool recorded) {
  std::int64_t unlike = 0;
  std::set<std::uint64_t> communicators;
  for (const LoadedShard& shard : shards)
    for (const CollectiveFact& fact : shard.trace.collectives) communicators.insert(fact.communicator);
  for (const std::uint64_t communicator : communicators) {
    std::vector<Member> members;
    for (LoadedShard& shard : shards)
      if (auto facts = of_communicator(shard, communicator); !facts.empty()) members.push_back({&shard, facts});
    if (agree(members, recorded)) continue;
    std::map<std::uint64_t, std::set<Kind>> kinds;
    for (auto& [shard, facts] : members) {
      number_by_step(*shard, facts);
      for (const CollectiveFact* fact : facts) kinds[fact->sequence].insert({fact->op, fact->bytes});
    }
    for (auto& [shard, facts] : members)
      for (CollectiveFact* fact : facts)
        if (kinds[fact->sequence].size() > 1) {
          fact->communicator ^= static_cast<std::uint64_t>(shard->rank + 1) * 0x9e3779b97f4a7c15ULL;
          ++unlike;
        }
  }
  for (LoadedShard& shard : shards)
    std::stable_sort(shard.trace.collectives.begin(), shard.trace.collectives.end(),
                     [](const CollectiveFact& a, const CollectiveFact& b) {
                       return std::pair(a.communicator, a.sequence) < std::pair(b.communicator, b.sequence);
                     });
  return unlike;
}

}  // namespace ddpprof::import
