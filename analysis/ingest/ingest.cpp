#include "analysis/ingest/ingest.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/ingest/busy.hpp"
#include "analysis/ingest/diagnostics.hpp"
#include "analysis/ingest/raw_writer.hpp"
#include "analysis/ingest/shard_trace.hpp"
#include "analysis/ingest/summary.hpp"
#include "tracer/store/inserter.hpp"

namespace ddpprof::ingest {
namespace {

namespace fs = std::filesystem;
using store::Database;

struct Loaded {
  std::int64_t shard_id = 0;
  std::int64_t rank = -1;
  bool raw_kept = false;
  ShardTrace trace;
  ShardSummary summary;
};

std::int64_t next_id(Database& database, const char* table) {
  SQLite::Statement query(database.sql(), fmt::format("SELECT coalesce(max(id), 0) + 1 FROM \"{}\"", table));
  query.executeStep();
  return query.getColumn(0).getInt64();
}

class Load {
 public:
  Load(Database& database, const MeasurementInfo& info, RawPolicy policy)
      : database_(database), info_(info), policy_(policy) {}

  IngestResult run(std::span<const fs::path> shards) {
    info_.id.reset();
    result_.measurement_id = store::Inserter<store::MeasurementRow>(database_).insert(info_);
    RawWriter raw(database_);
    for (const fs::path& path : shards) read(path, raw);
    check_ranks();
    match();
    write_shards();
    write_model();
    write_steps();
    write_diagnostics();
    return result_;
  }

 private:
  bool one_process() const { return info_.strategy == "dp" || info_.world_size == 1; }

  void read(const fs::path& path, RawWriter& raw) {
    const std::int64_t shard_id = next_shard_id_;
    try {
      const store::ShardReader reader(path);
      Loaded loaded;
      loaded.shard_id = shard_id;
      loaded.rank = reader.info().rank;
      loaded.raw_kept = policy_ == RawPolicy::all || (policy_ == RawPolicy::rank0 && is_rank0(reader.info()));
      raw.use_shard(loaded.shard_id);
      loaded.trace = read_shard_trace(reader, loaded.raw_kept ? &raw : nullptr);
      // Without a launcher RANK is unset; where there is only one process, the one that trains is rank 0.
      if (loaded.rank < 0 && one_process() && !loaded.trace.steps.empty()) loaded.rank = 0;
      result_.events += static_cast<std::int64_t>(loaded.trace.tally.records);
      ++next_shard_id_;
      shards_.push_back(std::move(loaded));
    } catch (const store::ShardError& error) {
      // Reading may fail half-way (a disk, a network mount): no raw event stays without its shard.
      for (const char* table : {"range", "kernel", "memcpy", "api_call"})
        database_.sql().exec(fmt::format("DELETE FROM \"{}\" WHERE shard_id = {}", table, shard_id));
      diagnostics_.add(std::nullopt, Severity::error, "shard_unreadable", 1, error.what(),
                       "the process died before it recorded anything, or the file is not a shard");
    }
  }

  bool is_rank0(const store::ShardInfo& info) const { return info.rank == 0 || (info.rank < 0 && one_process()); }

  void check_ranks() {
    for (Loaded& shard : shards_) {
      diagnostics_.add_shard(shard.rank, shard.trace);
      if (shard.rank >= 0) {
        if (const std::int64_t late = cut_late_ends(shard.trace); late > 0)
          diagnostics_.add(shard.rank, Severity::info, "collective_end_late", late,
                           "collectives whose end was recorded after the backward that waited for them",
                           "their ends are cut to that backward's; more compute threads than cores make this common");
        shard.summary = summarise(shard.trace);
        check_times(shard);
      } else if (!shard.trace.steps.empty()) {
        diagnostics_.add(std::nullopt, Severity::warning, "steps_without_rank",
                         static_cast<std::int64_t>(shard.trace.steps.size()),
                         fmt::format("process {} trained without a RANK in its environment; its steps are left out",
                                     shard.trace.info.pid),
                         "start every rank with RANK and WORLD_SIZE set, as torchrun does");
      }
    }
    if (info_.kind == "import") return;
    std::map<std::int64_t, std::int64_t> steps;
    for (const Loaded& shard : shards_)
      if (shard.rank >= 0) steps[shard.rank] += static_cast<std::int64_t>(shard.summary.steps.size());
    const std::int64_t ranks = info_.strategy == "dp" ? 1 : info_.world_size;
    std::vector<std::int64_t> missing;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      if (!steps.contains(rank)) missing.push_back(rank);
    if (!missing.empty()) {
      diagnostics_.add(std::nullopt, Severity::error, "missing_shard", static_cast<std::int64_t>(missing.size()),
                       fmt::format("no shard of rank {}", fmt::join(missing, ", ")),
                       "those ranks never started their tracer: see their output");
      for (std::int64_t rank = 0; rank < ranks; ++rank) ranks_expected_.push_back(rank);
    }
    if (info_.kind != "train") return;
    std::int64_t most = 0;
    for (const auto& [rank, count] : steps) most = std::max(most, count);
    if (most == 0)
      diagnostics_.add(std::nullopt, Severity::error, "no_steps", 1, "no rank recorded a whole step",
                       "see the ranks' output; with tracing off (measure.trace: false) there is nothing to ingest");
    for (const auto& [rank, count] : steps)
      if (count < most)
        diagnostics_.add(rank, Severity::warning, "steps_incomplete", most - count,
                         fmt::format("{} whole steps where another rank has {}", count, most),
                         "the rank stopped early or dropped records; compare only the steps that all ranks have");
  }

  // What the summaries of a rank cannot say by themselves.
  void check_times(Loaded& shard) {
    const auto count_of = [](const auto& all, auto&& holds) {
      return static_cast<std::int64_t>(std::count_if(all.begin(), all.end(), holds));
    };
    const ShardTrace& trace = shard.trace;
    if (info_.device == "cuda" && !trace.steps.empty() && trace.compute_kernels.empty() && trace.nccl_kernels.empty())
      diagnostics_.add(shard.rank, Severity::error, "gpu_not_measured", static_cast<std::int64_t>(trace.steps.size()),
                       "steps on a GPU without one recorded kernel: NCCL's communication, compute and their overlap "
                       "were not measured; their columns hold the host's launch times, or 0",
                       "see cupti_unavailable and 'ddpprof doctor'; where profiling is reserved to administrators, "
                       "load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0");
    std::int64_t diverged = 0;
    for (StepSummary& step : shard.summary.steps)
      if (step.row.loss && !std::isfinite(*step.row.loss)) {
        step.row.loss.reset();
        ++diverged;
      }
    if (diverged > 0)
      diagnostics_.add(shard.rank, Severity::warning, "loss_not_finite", diverged,
                       "steps whose loss is infinite or not a number (stored as NULL)",
                       "the training diverged: its times hold, its loss does not; lower the learning rate");
    if (const std::int64_t lost = count_of(
            shard.summary.collectives, [](const CollectiveSummary& collective) { return !collective.fact.launch_ns; });
        lost > 0)
      diagnostics_.add(shard.rank, Severity::warning, "launch_mark_lost", lost,
                       "collectives without a launch mark: their start is taken for the launch",
                       "their queueing time reads 0; dropped records are the usual reason");
  }

  void match() {
    std::vector<RankCollectives> ranks;
    for (Loaded& shard : shards_)
      if (shard.rank >= 0) ranks.push_back({shard.rank, &shard.summary});
    diagnostics_.add_unmatched(match_collectives(ranks, ranks_expected_));
    if (info_.oversubscription > 1.0)
      diagnostics_.add(std::nullopt, Severity::warning, "oversubscribed", 1,
                       fmt::format("{:.3g} compute threads per core: ranks slow each other", info_.oversubscription),
                       "compute time here is that of shared cores; use fewer workers or fewer threads per rank to "
                       "measure a rank that has its own");
  }

  // Exchanges count for every process of the same boot, which shares one clock; a shard's own come first.
  std::vector<store::ClockExchange> exchanges_of(const Loaded& shard) const {
    if (!shard.trace.exchanges.empty()) return shard.trace.exchanges;
    std::vector<store::ClockExchange> all;
    for (const Loaded& other : shards_)
      if (!shard.trace.info.boot_id.empty() && other.trace.info.boot_id == shard.trace.info.boot_id)
        all.insert(all.end(), other.trace.exchanges.begin(), other.trace.exchanges.end());
    return all;
  }

  void write_shards() {
    store::Inserter<store::ShardRow> rows(database_);
    store::Inserter<store::ThreadRow> threads(database_);
    const Loaded* reference = nullptr;
    for (const Loaded& shard : shards_)
      if (shard.rank == 0 && (!reference || (reference->summary.steps.empty() && !shard.summary.steps.empty())))
        reference = &shard;
    for (const Loaded& shard : shards_) {
      const store::ShardInfo& info = shard.trace.info;
      const bool same_boot = reference && (reference == &shard ||
                                           (!info.boot_id.empty() && info.boot_id == reference->trace.info.boot_id));
      const store::ClockAlignment clock = store::align_clock(exchanges_of(shard), same_boot, shard.trace.events);
      if (clock.reference == store::ClockReference::unknown)
        diagnostics_.add(shard.rank, Severity::warning, "clock_unknown", 1,
                         fmt::format("the clock of {} has no known relation to rank 0's", info.host),
                         "times of this rank cannot be laid beside other ranks'; durations and skew are not affected");
      store::ShardRow row;
      row.id = shard.shard_id;
      row.measurement_id = result_.measurement_id;
      row.rank = shard.rank;
      row.host = info.host;
      row.boot_id = info.boot_id;
      row.pid = info.pid;
      row.process = info.process;
      row.closed = info.closed;
      row.clock_reference = store::to_string(clock.reference);
      row.clock_offset_ns = clock.offset_ns;
      row.clock_drift_ppb = clock.drift_ppb;
      row.clock_at_ns = clock.at_ns;
      row.clock_uncertainty_ns = clock.uncertainty_ns;
      row.measured_offset_ns = clock.measured_offset_ns;
      row.raw_kept = shard.raw_kept;
      rows.insert(row);
      for (const auto& [tid, name] : shard.trace.thread_names) threads.insert({shard.shard_id, tid, name});
    }
  }

  // Parameters and buckets are the same on every rank: the lowest that recorded them speaks for all.
  void write_model() {
    const Loaded* parameters = nullptr;
    const Loaded* members = nullptr;
    for (const Loaded& shard : shards_) {
      if (shard.rank < 0) continue;
      if (!shard.trace.parameters.empty() && (!parameters || shard.rank < parameters->rank)) parameters = &shard;
      if (!shard.trace.members.empty() && (!members || shard.rank < members->rank)) members = &shard;
    }
    if (parameters) {
      store::Inserter<store::ParameterRow> rows(database_);
      std::set<std::int64_t> seen;
      for (const ParameterFact& fact : parameters->trace.parameters)
        if (seen.insert(fact.index).second)
          rows.insert({result_.measurement_id, fact.index, fact.name, fact.numel, fact.bytes});
    }
    if (members) {
      store::Inserter<store::BucketRow> rows(database_);
      std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> buckets;
      for (const MemberFact& fact : members->trace.members) {
        auto& bucket = buckets[{fact.generation, fact.bucket}];
        const auto position = static_cast<std::int64_t>(bucket.size());
        if (bucket.insert(fact.parameter).second)
          rows.insert({result_.measurement_id, fact.generation, fact.bucket, position, fact.parameter});
      }
    }
  }

  void write_steps() {
    store::Inserter<store::StepRow> steps(database_);
    store::Inserter<store::PhaseRow> phases(database_);
    store::Inserter<store::GradReadyRow> grads(database_);
    for (Loaded& shard : shards_) {
      if (shard.rank < 0) continue;
      std::vector<std::int64_t> step_ids;
      for (StepSummary& summary : shard.summary.steps) {
        summary.row.shard_id = shard.shard_id;
        const std::int64_t id = steps.insert(summary.row);
        step_ids.push_back(id);
        for (store::PhaseRow& phase : summary.phases) {
          phase.step_id = id;
          phases.insert(phase);
        }
        for (store::GradReadyRow& grad : summary.grads) {
          grad.step_id = id;
          grads.insert(grad);
        }
      }
      result_.steps += static_cast<std::int64_t>(step_ids.size());
      write_collectives(shard, step_ids);
    }
  }

  void write_collectives(const Loaded& shard, const std::vector<std::int64_t>& step_ids) {
    store::Inserter<store::CollectiveRow> rows(database_);
    for (const CollectiveSummary& collective : shard.summary.collectives) {
      const CollectiveFact& fact = collective.fact;
      store::CollectiveRow row;
      row.shard_id = shard.shard_id;
      if (collective.step) row.step_id = step_ids[*collective.step];
      row.communicator = std::bit_cast<std::int64_t>(fact.communicator);
      row.sequence = std::bit_cast<std::int64_t>(fact.sequence);
      row.op = collective_op_text(fact.op);
      row.bucket = fact.bucket;
      row.bytes = fact.bytes;
      row.ready_ns = collective.ready_ns;
      row.launch_ns = fact.launch_ns ? *fact.launch_ns : *fact.start_ns;
      row.start_ns = fact.start_ns;
      row.end_ns = fact.end_ns;
      row.transfer_ns = collective.transfer_ns;
      row.skew_ns = collective.skew_ns;
      rows.insert(row);
    }
  }

  void write_diagnostics() {
    store::Inserter<store::DiagnosticRow> rows(database_);
    for (const store::DiagnosticRow& row : diagnostics_.rows(result_.measurement_id)) {
      rows.insert(row);
      ++result_.diagnostics;
    }
  }

  Database& database_;
  MeasurementInfo info_;
  RawPolicy policy_;
  IngestResult result_;
  std::int64_t next_shard_id_ = next_id(database_, "shard");
  std::vector<Loaded> shards_;
  std::vector<std::int64_t> ranks_expected_;
  Diagnostics diagnostics_;
};

}  // namespace

IngestResult ingest_measurement(Database& database, const MeasurementInfo& info, std::span<const fs::path> shards,
                                RawPolicy policy) {
  try {
    store::BulkLoad load(database);
    const IngestResult result = Load(database, info, policy).run(shards);
    load.commit();
    return result;
  } catch (const SQLite::Exception& failure) {
    throw store::translate(failure, database.path());
  }
}

}  // namespace ddpprof::ingest
