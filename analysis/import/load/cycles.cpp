#include "analysis/import/load/cycles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/import/load/ranks.hpp"

namespace ddpprof::import {
namespace {

// From the first event of a host or a device to the last one, in nanoseconds since 1970 if the file has its base.
std::pair<std::int64_t, std::int64_t> span_of(const ReadRank& file) {
  store::EventSpan span = file.training.shard.events;
  for (const WindowTime& window : file.training.device_times)
    if (&window == &file.training.device_times.front()) {
      span.add(window.window.start_ns);
      span.add(window.window.end_ns);
    }
  return {file.base_ns + span.first_ns, file.base_ns + span.last_ns};
}

// Returns HOST_PID of the names that torch.profiler.tensorboard_trace_handler gives: HOST_PID.TIME.pt.trace.json. Empty
// for other names.
std::string worker_of(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const std::size_t end = name.find(".pt.trace.json");
  if (end == std::string::npos || end == 0) return "";
  const std::size_t time = name.rfind('.', end - 1);
  return time == std::string::npos ? "" : name.substr(0, time);
}

// Processes of two hosts may have equal ids.
bool on_other_hosts(const ReadRank& a, const ReadRank& b) {
  const auto differ = [](const std::string& one, const std::string& other) {
    return !one.empty() && !other.empty() && one != other;
  };
  return differ(a.training.shard.info.host, b.training.shard.info.host) || differ(worker_of(a.file), worker_of(b.file));
}

bool one_process(const ReadRank& a, const ReadRank& b) {
  const auto identity = [](const ReadRank& file) {
    return std::tuple(file.pid, file.rank ? file.rank : rank_in_name(file.file), file.world_size, file.backend,
                      file.devices, file.training.on_device, file.training.parameter_bytes);
  };
  return a.pid != 0 && !a.recorded && !b.recorded && a.part.empty() && b.part.empty() && a.file != b.file &&
         !on_other_hosts(a, b) && identity(a) == identity(b);
}

// The annotated steps of a process are numbered on from cycle to cycle. Another run begins anew.
bool continues(const ReadRank& first, const ReadRank& next) {
  const auto annotated = [](const ReadRank& file) {
    return file.training.source == StepSource::annotations && !file.training.shard.steps.empty();
  };
  if (!annotated(first) || !annotated(next)) return annotated(first) == annotated(next);
  return next.training.shard.steps.front().step > first.training.shard.steps.back().step;
}

void shift(std::int64_t& time_ns, std::int64_t by_ns) {
  if (time_ns != INT64_MIN) time_ns += by_ns;
}
void shift(std::optional<std::int64_t>& time_ns, std::int64_t by_ns) {
  if (time_ns) *time_ns += by_ns;
}
void shift(ingest::Interval& time, std::int64_t by_ns) {
  time.start_ns += by_ns;
  time.end_ns += by_ns;
}

template <class Facts>
void append(Facts& to, const Facts& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_shard(ingest::ShardTrace& to, ingest::ShardTrace from, std::int64_t by_ns, bool sequences_recorded) {
  for (ingest::StepFact& step : from.steps) shift(step.time, by_ns);
  for (ingest::PhaseFact& phase : from.phases) shift(phase.time, by_ns);
  for (ingest::GradFact& gradient : from.grads) shift(gradient.time_ns, by_ns);
  for (ingest::Interval& wait : from.waits) shift(wait, by_ns);
  // Counted numbers begin at 0 in each file.
  std::map<std::uint64_t, std::uint64_t> next;
  if (!sequences_recorded)
    for (const ingest::CollectiveFact& fact : to.collectives)
      next[fact.communicator] = std::max(next[fact.communicator], fact.sequence + 1);
  for (ingest::CollectiveFact& fact : from.collectives) {
    shift(fact.launch_ns, by_ns);
    shift(fact.start_ns, by_ns);
    shift(fact.end_ns, by_ns);
    if (const auto first = next.find(fact.communicator); first != next.end()) fact.sequence += first->second;
  }
  append(to.steps, from.steps);
  append(to.phases, from.phases);
  append(to.grads, from.grads);
  append(to.waits, from.waits);
  append(to.totals, from.totals);
  append(to.collectives, from.collectives);
  std::stable_sort(to.collectives.begin(), to.collectives.end(),
                   [](const ingest::CollectiveFact& a, const ingest::CollectiveFact& b) {
                     return std::pair(a.communicator, a.sequence) < std::pair(b.communicator, b.sequence);
                   });
  if (to.parameters.empty()) {
    to.parameters = std::move(from.parameters);
    to.members = std::move(from.members);
  }
  if (from.events.last_ns >= from.events.first_ns) {
    to.events.add(from.events.first_ns + by_ns);
    to.events.add(from.events.last_ns + by_ns);
  }
  to.tally.records += from.tally.records;
}

void append_kernels(std::vector<KernelTotals>& to, const std::vector<KernelTotals>& from) {
  for (const KernelTotals& kernel : from) {
    const auto found = std::find_if(to.begin(), to.end(), [&](const KernelTotals& known) {
      return known.name == kernel.name && known.work == kernel.work;
    });
    if (found == to.end()) {
      to.push_back(kernel);
      continue;
    }
    found->totals.count += kernel.totals.count;
    found->totals.total_ns += kernel.totals.total_ns;
    found->totals.minimum_ns = std::min(found->totals.minimum_ns, kernel.totals.minimum_ns);
    found->totals.maximum_ns = std::max(found->totals.maximum_ns, kernel.totals.maximum_ns);
  }
}

// Units are joined by their names. Steps are shifted by `steps`, times by `by_ns`.
void append_sharding(ShardedTraining& to, const ShardedTraining& from, std::int64_t steps, std::int64_t by_ns) {
  to.annotated = to.annotated || from.annotated;
  std::vector<std::size_t> numbers;  // in `to`, of the units of `from`
  for (const ShardedUnit& unit : from.units) {
    const auto known = std::ranges::find(to.units, unit.name, &ShardedUnit::name);
    numbers.push_back(static_cast<std::size_t>(known - to.units.begin()));
    if (known == to.units.end()) to.units.push_back(unit);
  }
  for (UnitWork work : from.work) {
    work.step += steps;
    work.unit = numbers[work.unit];
    if (work.hidden_by) work.hidden_by = numbers[*work.hidden_by];
    if (work.launch_ns) *work.launch_ns += by_ns;
    work.time.start_ns += by_ns;
    work.time.end_ns += by_ns;
    to.work.push_back(work);
  }
}

// Step numbers must differ, because a step is found by its rank and its number. Returns what is added to them.
std::int64_t renumber(const std::vector<ingest::StepFact>& before, std::vector<ingest::StepFact>& steps) {
  if (before.empty() || steps.empty() || steps.front().step > before.back().step) return 0;
  const std::int64_t by = before.back().step + 1 - steps.front().step;
  for (ingest::StepFact& step : steps) step.step += by;
  return by;
}

void join(ReadRank& to, ReadRank from) {
  const std::int64_t by_ns = from.base_ns - to.base_ns;
  const std::int64_t steps = renumber(to.training.shard.steps, from.training.shard.steps);
  append_sharding(to.training.sharding, from.training.sharding, steps, by_ns);
  for (WindowTime& window : from.training.device_times) {
    window.window.start_ns += by_ns;
    window.window.end_ns += by_ns;
  }
  append_shard(to.training.shard, std::move(from.training.shard), by_ns,
               to.training.sequences_recorded && from.training.sequences_recorded);
  append(to.training.device_times, from.training.device_times);
  append_kernels(to.kernels, from.kernels);
  to.training.steps += from.training.steps;
  to.training.batch_per_worker = std::max(to.training.batch_per_worker, from.training.batch_per_worker);
  if (to.training.parallelism == Parallelism::data) to.training.parallelism = from.training.parallelism;
  if (to.training.replicas != from.training.replicas) to.training.replicas = 0;
  to.events += from.events;
  append(to.notes, from.notes);
  append(to.training.notes, from.training.notes);
}

}  // namespace

std::vector<JoinedCycle> join_cycles(std::vector<ReadRank>& files) {
  std::vector<JoinedCycle> joined;
  std::vector<std::vector<std::size_t>> processes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto own = std::find_if(processes.begin(), processes.end(),
                                  [&](const auto& process) { return one_process(files[process.front()], files[i]); });
    if (own == processes.end())
      processes.push_back({i});
    else
      own->push_back(i);
  }
  std::vector<bool> gone(files.size(), false);
  for (std::vector<std::size_t>& process : processes) {
    if (process.size() < 2) continue;
    std::sort(process.begin(), process.end(),
              [&](std::size_t a, std::size_t b) { return span_of(files[a]) < span_of(files[b]); });
    // Ranks in containers may have equal process ids, but they run at the same time.
    bool apart = true;
    for (std::size_t i = 1; i < process.size(); ++i)
      apart = apart && span_of(files[process[i]]).first >= span_of(files[process[i - 1]]).second &&
              continues(files[process[i - 1]], files[process[i]]);
    if (!apart) continue;
    ReadRank& first = files[process.front()];
    std::string who = first.file.filename().string();
    for (std::size_t i = 1; i < process.size(); ++i) {
      ReadRank& next = files[process[i]];
      joined.push_back({next.source, first.source, next.base_ns - first.base_ns});
      who += ", " + next.file.filename().string();
      join(first, std::move(next));
      gone[process[i]] = true;
    }
    first.notes.push_back(
        {ingest::Severity::info, "cycles_joined", static_cast<std::int64_t>(process.size()),
         fmt::format("files of one process at different times are one rank: {}", who),
         "a profiler's schedule that repeats writes one file per cycle; import other jobs separately"});
  }
  std::size_t place = 0;
  std::erase_if(files, [&](const ReadRank&) { return gone[place++]; });
  return joined;
}

}  // namespace ddpprof::import
