#include "analysis/import/load/measurement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::import {
namespace {

using ingest::Severity;

// A file of several devices has one rank per device, also if one process used them all: this is DataParallel, unless
// the devices reduce gradients.
bool one_process_of_several_devices(std::span<const ImportedRank> ranks, std::vector<Note>& notes) {
  std::map<std::pair<std::filesystem::path, std::uint64_t>, std::int64_t> devices;
  for (const ImportedRank& rank : ranks) {
    const ReadRank& file = *rank.file;
    const std::vector<ingest::CollectiveFact>& collectives = rank.shard->trace.collectives;
    if (file.part.empty() || file.training.parallelism != Parallelism::data ||
        std::any_of(collectives.begin(), collectives.end(), [](const auto& fact) { return fact.bucket >= 0; }))
      continue;
    ++devices[{file.file, static_cast<std::uint64_t>(rank.shard->trace.info.pid)}];
  }
  bool any = false;
  for (const auto& [process, count] : devices) {
    if (count < 2) continue;
    any = true;
    ParallelismNote diagnostic =
        note_of({Parallelism::one_process,
                 fmt::format("process {} computed on {} devices and reduced no gradients between them", process.second,
                             count)});
    notes.push_back({Severity::warning, diagnostic.code, count, diagnostic.message, diagnostic.advice});
  }
  return any;
}

// Returns true if CUDA graphs that were recorded as a whole hide the communication of several ranks: no gradients are
// reduced outside of the graphs.
bool graphs_hide_communication(std::span<const ImportedRank> ranks, std::int64_t world_size, std::vector<Note>& notes) {
  std::int64_t graphs = 0, collectives = 0;
  for (const ImportedRank& rank : ranks) {
    graphs += rank.file->training.whole_graphs;
    collectives += static_cast<std::int64_t>(rank.shard->trace.collectives.size());
    if (std::ranges::any_of(rank.shard->trace.collectives, [](const auto& fact) { return fact.bucket >= 0; }))
      return false;
  }
  if (graphs == 0 || world_size < 2) return false;
  notes.push_back({Severity::warning, store::collective_kernels_unknown, graphs,
                   fmt::format("CUDA graphs of {} ranks were recorded as a whole, and no gradients are reduced outside "
                               "of the graphs (collectives outside of them: {}): the collectives in the graphs were "
                               "not recorded",
                               world_size, collectives),
                   "communication is unknown, and other N are not predicted. Record the kernels of graphs: nsys "
                   "profile --cuda-graph-trace=node; or record the same job without CUDA graphs"});
  return true;
}

// The units of all ranks by name: the ranks of pipeline stages have different units.
struct UnitsOfRanks {
  std::vector<const ShardedUnit*> units;  // the first rank's in its order, then those of other ranks
  std::map<std::string, std::int64_t> numbers;
  std::vector<std::int64_t> incomplete;  // ranks without some of the units
};

UnitsOfRanks units_of_ranks(std::span<const ImportedRank> ranks) {
  UnitsOfRanks all;
  for (const ImportedRank& rank : ranks)
    for (const ShardedUnit& unit : rank.file->training.sharding.units)
      if (all.numbers.emplace(unit.name, static_cast<std::int64_t>(all.units.size())).second)
        all.units.push_back(&unit);
  for (const ImportedRank& rank : ranks)
    if (rank.file->training.sharding.units.size() < all.units.size()) all.incomplete.push_back(rank.shard->rank);
  return all;
}

// If any rank is not data parallel, the whole measurement is not. "sharded" (ZeRO, FSDP without its annotations or
// with different units on its ranks) and "other" are reported, not predicted.
std::string strategy_of(std::span<const ImportedRank> ranks, std::int64_t world_size, std::vector<Note>& notes) {
  const auto any = [&](Parallelism kind) {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const ImportedRank& rank) { return rank.file->training.parallelism == kind; });
  };
  if (any(Parallelism::sharded) && !any(Parallelism::model)) {
    if (std::ranges::none_of(ranks, [](const ImportedRank& rank) { return rank.file->training.sharding.annotated; }))
      return "sharded";
    const UnitsOfRanks all = units_of_ranks(ranks);
    if (all.incomplete.empty()) return "fsdp";
    notes.push_back(
        {Severity::warning, "sharded_units_differ", static_cast<std::int64_t>(all.incomplete.size()),
         fmt::format("ranks have different sharded units, as in pipeline stages: {} of {} ranks do not have all {} "
                     "units, for example rank {}",
                     all.incomplete.size(), ranks.size(), all.units.size(), all.incomplete.front()),
         "the units are reported (--report sharding), not predicted"});
    return "sharded";
  }
  if (graphs_hide_communication(ranks, world_size, notes) || one_process_of_several_devices(ranks, notes))
    return "other";
  if (any(Parallelism::model) || any(Parallelism::one_process) || any(Parallelism::apart) ||
      any(Parallelism::unrecorded) || any(Parallelism::inference))
    return "other";
  return "ddp";
}

// Returns the ranks that process different samples. None: all ranks. 0: unknown, also if the ranks differ.
std::optional<std::int64_t> replicas_of(std::span<const ImportedRank> ranks) {
  const std::optional<std::int64_t> replicas = ranks.front().file->training.replicas;
  const bool alike =
      std::ranges::all_of(ranks, [&](const ImportedRank& rank) { return rank.file->training.replicas == replicas; });
  return alike ? replicas : 0;
}

void add_replicas(std::int64_t replicas, const store::MeasurementRow& row, nlohmann::json& options,
                  std::vector<Note>& notes) {
  options["replicas"] = replicas;
  if (row.batch_per_worker == 0) return;
  if (replicas > 0)
    notes.push_back({Severity::info, "samples_of_replicas", replicas,
                     fmt::format("{} data parallel replica{} of a model whose layers or sequences the {} ranks divide: a step "
                                 "has the samples of {}",
                                 replicas, replicas == 1 ? "" : "s", row.world_size,
                                 replicas == 1 ? "one rank" : fmt::format("{} ranks", replicas)),
                     "if ranks process other samples, give --batch-per-worker"});
  else
    notes.push_back({Severity::warning, "samples_unknown", 1,
                     "ranks may process the same samples, as tensor parallel ranks, ranks that divide sequences and "
                     "pipeline stages do, and the number of data parallel replicas is not known: throughput and global "
                     "batch are not reported",
                     fmt::format("give --batch-per-worker: the samples of a step / {} ranks / {} backward{} per step",
                                 row.world_size, row.accumulation, row.accumulation == 1 ? "" : "s")});
}

// Facts that the job's own process stated replace those that were derived from events.
void use_job_facts(const JobFacts& job, store::MeasurementRow& row, nlohmann::json& options, nlohmann::json& versions) {
  if (job.parameter_bytes > 0 && job.parameter_count > 0) {
    row.parameter_count = job.parameter_count;
    row.parameter_bytes = job.parameter_bytes;
  }
  if (job.threads > 0) row.threads_per_rank = job.threads;
  if (job.bucket_cap_bytes > 0) options["bucket_cap_mb"] = static_cast<double>(job.bucket_cap_bytes) / (1 << 20);
  if (job.find_unused_parameters) options["find_unused_parameters"] = *job.find_unused_parameters;
  if (job.gradient_as_bucket_view) options["gradient_as_bucket_view"] = *job.gradient_as_bucket_view;
  if (job.learning_rate > 0.0) options["learning_rate"] = job.learning_rate;
  if (job.betas) options["betas"] = {job.betas->first, job.betas->second};
  if (!job.torch.empty()) versions["torch"] = job.torch;
  if (!job.python.empty()) versions["python"] = job.python;
}

// Returns the mean of the ranks' known batches, so that N of them are the samples of a step; 0 if all are unknown.
std::int64_t mean_batch(std::span<const ImportedRank> ranks) {
  double sum = 0.0;
  std::int64_t known = 0;
  for (const ImportedRank& rank : ranks)
    if (const std::int64_t batch = rank.file->training.batch_per_worker; batch > 0) {
      sum += static_cast<double>(batch);
      ++known;
    }
  return known > 0 ? std::llround(sum / static_cast<double>(known)) : 0;
}

void write_memory(store::Database& database, std::int64_t measurement_id, std::span<const ImportedRank> ranks) {
  store::Inserter<store::MemoryRow> rows(database);
  for (const ImportedRank& rank : ranks) {
    std::int64_t device = 0;
    for (const DeviceMemory& memory : rank.file->training.memory)
      rows.insert({measurement_id, rank.shard->rank, device++, memory.held_bytes, memory.peak_bytes});
  }
}

void write_groups(store::Database& database, std::int64_t measurement_id, std::span<const ImportedRank> ranks) {
  std::map<std::uint64_t, store::ProcessGroupRow> rows;
  for (const ImportedRank& rank : ranks)
    for (const ProcessGroup& group : rank.file->training.groups) {
      store::ProcessGroupRow& row = rows[group.communicator];
      row.measurement_id = measurement_id;
      row.communicator = std::bit_cast<std::int64_t>(group.communicator);
      if (row.name.empty()) row.name = group.name;
      if (row.description.empty()) row.description = group.description;
      if (group.size > 0) row.size = std::max(row.size.value_or(0), group.size);
      if (!group.ranks.empty()) row.ranks = nlohmann::json(group.ranks).dump();
    }
  store::Inserter<store::ProcessGroupRow> inserter(database);
  for (const auto& [communicator, row] : rows) inserter.insert(row);
}

std::optional<std::int64_t> known(std::int64_t value) { return value > 0 ? std::optional(value) : std::nullopt; }

void write_sharded_units(store::Database& database, std::int64_t measurement_id, const UnitsOfRanks& all) {
  store::Inserter<store::ShardedUnitRow> rows(database);
  std::int64_t number = 0;
  for (const ShardedUnit* unit : all.units)
    rows.insert({measurement_id, number++, unit->name, unit->root ? 1 : 0, unit->parameters, unit->gathered_bytes,
                 known(unit->gathered_element_bytes), unit->scattered_bytes, known(unit->scattered_element_bytes),
                 known(unit->ranks), unit->gathers_again, unit->scatters_by_all_reduce ? 1 : 0});
}

void write_sharded_work(store::Database& database, const ImportedRank& rank, const UnitsOfRanks& all) {
  const auto number_of = [&](std::size_t unit) {
    return all.numbers.at(rank.file->training.sharding.units[unit].name);
  };
  static constexpr std::string_view actions[] = {"all_gather", "reduce_scatter", "all_reduce", "compute", "copy"};
  std::map<std::int64_t, const store::StepRow*> steps;  // by number
  for (const ingest::StepSummary& step : rank.shard->summary.steps)
    if (step.row.kind == "measured") steps.emplace(step.row.step, &step.row);
  // Matching may have given other numbers to collectives than they have in the file.
  std::map<std::pair<std::int64_t, std::int64_t>, const ingest::CollectiveFact*> collectives;  // by start and end
  for (const ingest::CollectiveSummary& one : rank.shard->summary.collectives)
    if (one.fact.start_ns && one.fact.end_ns)
      collectives.emplace(std::pair(*one.fact.start_ns, *one.fact.end_ns), &one.fact);
  std::vector<store::ShardedWorkRow> made;
  for (const UnitWork& work : rank.file->training.sharding.work) {
    const auto step = steps.find(work.step);
    if (step == steps.end()) continue;
    const std::int64_t begin_ns = step->second->start_ns;
    store::ShardedWorkRow& row = made.emplace_back();
    row.step_id = *step->second->id;
    row.unit = number_of(work.unit);
    row.action = actions[static_cast<std::size_t>(work.action)];
    row.pass = work.backward ? "backward" : "forward";
    row.micro_batch = work.micro_batch;
    row.start_ns = work.time.start_ns - begin_ns;
    row.end_ns = work.time.end_ns - begin_ns;
    if (work.action == UnitAction::compute || work.action == UnitAction::copy) {
      row.busy_ns = work.busy_ns;
    } else {
      if (work.launch_ns) row.launch_ns = *work.launch_ns - begin_ns;
      row.bytes = work.bytes;
      row.exposed_ns = work.exposed_ns;
      if (work.hidden_by) row.hidden_by = number_of(*work.hidden_by);
      row.prefetched = work.prefetched ? 1 : 0;
      if (const auto own = collectives.find({work.time.start_ns, work.time.end_ns}); own != collectives.end()) {
        row.communicator = std::bit_cast<std::int64_t>(own->second->communicator);
        row.sequence = std::bit_cast<std::int64_t>(own->second->sequence);
      }
    }
  }
  store::Inserter<store::ShardedWorkRow> rows(database);
  for (const store::ShardedWorkRow& row : made) rows.insert(row);
}

void write_device_times(store::Database& database, std::span<const ImportedRank> ranks) {
  store::Inserter<store::DeviceTimeRow> times(database);
  store::Inserter<store::KernelSummaryRow> kernels(database);
  store::StringInterner strings(database);
  for (const ImportedRank& rank : ranks) {
    const ReadRank& file = *rank.file;
    std::set<std::pair<std::string, std::int64_t>> seen;
    for (const WindowTime& window : file.training.device_times) {
      if (!seen.emplace(window.name, window.window.start_ns).second) continue;
      const DeviceTime& time = window.time;
      times.insert({rank.shard->shard_id, window.name, window.window.start_ns,
                    window.window.end_ns - window.window.start_ns, time.compute_ns, time.communication_ns,
                    time.memory_ns, time.overlapped_ns, time.busy_ns, time.kernels, time.collective_kernels,
                    time.copies});
    }
    static constexpr std::string_view kinds[] = {"compute", "communication", "copy", "set"};
    for (const KernelTotals& kernel : file.kernels)
      kernels.insert({rank.shard->shard_id, strings.intern(kernel.name), kinds[static_cast<std::size_t>(kernel.work)],
                      kernel.totals.count, kernel.totals.total_ns, kernel.totals.minimum_ns, kernel.totals.maximum_ns});
  }
}

// Returns the length of a recording. If the host runs ahead of the devices, the steps end after its last event.
std::int64_t recorded_ns(const ingest::ShardTrace& trace) {
  std::int64_t longest_ns = 0;
  if (trace.events.last_ns > trace.events.first_ns) longest_ns = trace.events.last_ns - trace.events.first_ns;
  if (!trace.steps.empty())
    longest_ns = std::max(longest_ns, trace.steps.back().time.end_ns - trace.steps.front().time.start_ns);
  return longest_ns;
}

}  // namespace

HostIdentity host_of(const ReadRank& rank) {
  // Recorded processes, and traces of ddpprof's Python module, have the identity of their host. Traces of torch 2.12
  // and newer and exports of Nsight Systems have its name.
  HostIdentity host{"", rank.training.shard.info.host, ""};
  if (rank.recorded) {
    host.machine = rank.clock;
  } else if (rank.job) {
    host.machine = rank.job->boot_id;
    host.network = rank.job->network;
  }
  return host;
}

DescribedMeasurement describe_measurement(std::span<const ImportedRank> ranks, const RankAssignment& assignment,
                                          std::int64_t hosts, const SharedFacts& shared, std::size_t job) {
  DescribedMeasurement described;
  std::vector<Note>& notes = described.notes;
  const ReadRank& file = *ranks.front().file;
  const Training& training = file.training;
  store::MeasurementRow& row = described.row;
  row.kind = "import";
  row.strategy = strategy_of(ranks, assignment.world_size, notes);
  if (!assignment.world_size_known) row.strategy = "other";
  row.world_size = assignment.world_size;
  row.device = used_device(file) ? "cuda" : "cpu";
  row.backend = shared.backend_of(file);
  row.model = shared.model_of(job);
  row.parameter_count = training.parameter_count;
  row.parameter_bytes = training.parameter_bytes;
  if (assignment.world_size_known) row.batch_per_worker = mean_batch(ranks);
  row.accumulation = training.accumulation;
  row.precision = "recorded";
  row.threads_per_rank = 1;
  row.nodes = hosts;
  nlohmann::json versions = nlohmann::json::object();
  for (const auto& [name, version] : file.versions) versions[name] = version;
  if (!file.devices.empty()) versions["device"] = file.devices.front();
  nlohmann::json options = nlohmann::json::object();
  if (file.job) use_job_facts(*file.job, row, options, versions);
  if (!file.optimizer.empty()) options["optimizer"] = file.optimizer;
  if (const auto replicas = replicas_of(ranks); replicas && assignment.world_size_known && *replicas != row.world_size)
    add_replicas(*replicas, row, options, notes);
  row.options = options.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // SQLite exports may hold texts with invalid UTF-8.
  row.versions = versions.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::int64_t ranks_per_host = (assignment.world_size - 1) / hosts + 1;
  const SharedFacts::Cores cores = shared.cores_of(file);
  row.cores = row.device == "cuda" && cores.assumed ? ranks_per_host : cores.count;
  if (cores.assumed && row.device == "cpu")
    notes.push_back({Severity::warning, "cores_unknown", 1,
                     "the number of cores per host is not recorded: it is assumed to be the number of ranks per host, "
                     "which further ranks share",
                     "give --cores, and --nodes where ranks ran on several hosts; or predict --sharing dedicated"});
  if (!cores.assumed)
    row.oversubscription =
        static_cast<double>(ranks_per_host * row.threads_per_rank) / static_cast<double>(cores.count);
  row.started_utc_ns = file.base_ns;
  const store::EventSpan& events = ranks.front().shard->trace.events;
  row.wall_ns = recorded_ns(ranks.front().shard->trace);
  if (row.started_utc_ns != 0 || events.first_ns > std::int64_t{1'000'000'000'000'000'000})
    row.started_utc_ns += events.first_ns;
  if (!assignment.missing.empty()) {
    row.status = "partial";
    row.message = fmt::format("{} of {} ranks", ranks.size(), assignment.world_size);
    notes.push_back(
        {Severity::warning, "rank_missing", static_cast<std::int64_t>(assignment.missing.size()),
         assignment.missing.size() <= 16
             ? fmt::format("no file of rank {} of {}", fmt::join(assignment.missing, ", "), assignment.world_size)
             : fmt::format("no file of {} of {} ranks", assignment.missing.size(), assignment.world_size),
         "without these files, waiting for slower ranks cannot be separated from transfer"});
  }
  return described;
}

void write_device_rows(store::Database& database, std::int64_t measurement_id, std::span<const ImportedRank> ranks) {
  write_device_times(database, ranks);
  write_memory(database, measurement_id, ranks);
  write_groups(database, measurement_id, ranks);
  const UnitsOfRanks units = units_of_ranks(ranks);
  write_sharded_units(database, measurement_id, units);
  for (const ImportedRank& rank : ranks) write_sharded_work(database, rank, units);
}

}  // namespace ddpprof::import
