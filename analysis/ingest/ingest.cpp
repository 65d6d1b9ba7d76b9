#include "analysis/ingest/ingest.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ingest/busy.hpp"
#include "analysis/ingest/copies.hpp"
#include "analysis/ingest/diagnostics.hpp"
#include "analysis/ingest/measurement_writer.hpp"
#include "analysis/ingest/rank_merge.hpp"
#include "analysis/ingest/raw_writer.hpp"
#include "analysis/ingest/shard_trace.hpp"
#include "analysis/ingest/summary.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::ingest {
namespace {

namespace fs = std::filesystem;
using store::Database;

class Load {
 public:
  Load(Database& database, const MeasurementInfo& info, RawPolicy policy)
      : database_(database), info_(info), policy_(policy) {}

  IngestResult run(std::span<const fs::path> shards) {
    info_.id.reset();
    result_.measurement_id = store::Inserter<store::MeasurementRow>(database_).insert(info_);
    MeasurementWriter writer(database_, result_.measurement_id, diagnostics_);
    RankMerge ranks(database_, writer);
    RawWriter raw(database_);
    for (const fs::path& path : by_rank(once_each(shards))) {
      std::optional<LoadedShard> shard = read(path, raw);
      if (!shard) continue;
      check(*shard);
      if (shard->rank >= 0) ranks.write(*shard);
      result_.steps += shard->steps;
      keep(std::move(*shard));
    }
    check_ranks();
    diagnostics_.add_unmatched(ranks.match(ranks_expected_));
    if (info_.oversubscription > 1.0)
      diagnostics_.add(std::nullopt, Severity::warning, "oversubscribed", 1,
                       fmt::format("{:.3g} compute threads per core: ranks slow each other", info_.oversubscription),
                       "compute times are those of shared cores; to measure ranks with their own cores, use fewer "
                       "workers or fewer threads per rank");
    writer.write_shards(shards_);
    writer.write_model(shards_);
    write_diagnostics();
    return result_;
  }

 private:
  bool one_process() const { return info_.strategy == "dp" || info_.world_size == 1; }

  std::vector<fs::path> once_each(std::span<const fs::path> shards) {
    std::vector<Copy> copies;
    std::vector<fs::path> kept = without_copies(shards, copies);
    for (const Copy& copy : copies)
      diagnostics_.add(std::nullopt, Severity::warning, "shard_twice", 1,
                       fmt::format("{} is a copy of {} and is left out", copy.left_out.string(), copy.kept.string()),
                       "remove the copy; the other shard is used");
    return kept;
  }

  // Sorts by rank, as RankMerge requires. Processes without a rank and unreadable shards come last; reading an
  // unreadable shard reports the reason.
  static std::vector<fs::path> by_rank(std::span<const fs::path> shards) {
    std::vector<std::pair<std::int64_t, fs::path>> order;
    for (const fs::path& path : shards) {
      std::int64_t rank = std::numeric_limits<std::int64_t>::max();
      try {
        if (const std::int64_t said = store::ShardReader(path).info().rank; said >= 0) rank = said;
      } catch (const store::ShardError&) {
      }
      order.emplace_back(rank, path);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<fs::path> paths;
    for (auto& [rank, path] : order) paths.push_back(std::move(path));
    return paths;
  }

  std::optional<LoadedShard> read(const fs::path& path, RawWriter& raw) {
    const std::int64_t shard_id = next_shard_id_;
    try {
      const store::ShardReader reader(path);
      LoadedShard loaded;
      loaded.shard_id = shard_id;
      loaded.rank = reader.info().rank;
      loaded.raw_kept = policy_ == RawPolicy::all || (policy_ == RawPolicy::rank0 && is_rank0(reader.info()));
      raw.use_shard(loaded.shard_id);
      loaded.trace = read_shard_trace(reader, loaded.raw_kept ? &raw : nullptr);
      // Without a launcher RANK is unset. In a measurement of one process, the process that trains is rank 0.
      if (loaded.rank < 0 && one_process() && !loaded.trace.steps.empty()) loaded.rank = 0;
      result_.events += static_cast<std::int64_t>(loaded.trace.tally.records);
      ++next_shard_id_;
      return loaded;
    } catch (const store::ShardError& error) {
      // Reading may fail midway (a disk, a network mount): raw events without their shard are removed.
      for (const char* table : {"range", "kernel", "memcpy", "api_call"})
        database_.sql().exec(fmt::format("DELETE FROM \"{}\" WHERE shard_id = {}", table, shard_id));
      diagnostics_.add(std::nullopt, Severity::error, "shard_unreadable", 1, error.what(),
                       "the process died before it recorded anything, or the file is not a shard");
    }
    return std::nullopt;
  }

  bool is_rank0(const store::ShardInfo& info) const { return info.rank == 0 || (info.rank < 0 && one_process()); }

  void check(LoadedShard& shard) {
    diagnostics_.add_shard(shard.rank, shard.trace);
    if (shard.rank >= 0) {
      if (const std::int64_t late = cut_late_ends(shard.trace); late > 0)
        diagnostics_.add(
            shard.rank, Severity::info, "collective_end_late", late,
            "collectives whose end was recorded after the backward that waited for them",
            "their ends are cut to the end of that backward; this is common with more compute threads than "
            "cores");
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

  // After a shard's steps are written, keeps only the facts that other rows of the measurement need. All facts of all
  // ranks would take too much memory.
  void keep(LoadedShard shard) {
    ShardTrace kept;
    kept.info = std::move(shard.trace.info);
    kept.events = shard.trace.events;
    kept.exchanges = std::move(shard.trace.exchanges);
    kept.thread_names = std::move(shard.trace.thread_names);
    // Parameters and buckets are taken from the lowest rank that has them, which comes first.
    if (shard.rank >= 0 && !std::exchange(have_parameters_, have_parameters_ || !shard.trace.parameters.empty()))
      kept.parameters = std::move(shard.trace.parameters);
    if (shard.rank >= 0 && !std::exchange(have_members_, have_members_ || !shard.trace.members.empty()))
      kept.members = std::move(shard.trace.members);
    shard.trace = std::move(kept);
    shard.summary = {};
    shards_.push_back(std::move(shard));
  }

  void check_ranks() {
    if (info_.kind == "import") return;
    std::map<std::int64_t, std::int64_t> steps;
    for (const LoadedShard& shard : shards_)
      if (shard.rank >= 0) steps[shard.rank] += shard.steps;
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
      diagnostics_.add(std::nullopt, Severity::error, "no_steps", 1, "no rank recorded a complete step",
                       "see the ranks' output; with tracing off (measure.trace: false) there is nothing to ingest");
    for (const auto& [rank, count] : steps)
      if (count < most)
        diagnostics_.add(rank, Severity::warning, "steps_incomplete", most - count,
                         fmt::format("{} complete steps; another rank has {}", count, most),
                         "the rank stopped early or dropped records; compare only the steps that all ranks have");
  }

  // Adds the diagnostics of times and numbers that a summary alone does not show.
  void check_times(LoadedShard& shard) {
    const auto count_of = [](const auto& all, auto&& holds) {
      return static_cast<std::int64_t>(std::count_if(all.begin(), all.end(), holds));
    };
    const ShardTrace& trace = shard.trace;
    if (trace.nccl_disagreements > 0)
      diagnostics_.add(shard.rank, Severity::warning, "nccl_disagrees", trace.nccl_disagreements,
                       "collectives after whose launch NCCL reports another operation or size; NCCL's choices for them "
                       "are left out",
                       "the usual reason: other code launches NCCL operations on the same process group");
    if (trace.nccl_channel_times > 0)
      diagnostics_.add(shard.rank, Severity::info, "nccl_channel_times", trace.nccl_channel_times,
                       "collectives timed by NCCL, because CUPTI recorded no kernel: the GPU's timer from the first "
                       "channel's start to the last channel's end",
                       "durations are right; start times may be late by the polling period of NCCL's proxy thread");
    if (info_.device == "cuda" && !trace.steps.empty() && trace.compute_kernels.empty() && trace.nccl_kernels.empty())
      diagnostics_.add(
          shard.rank, Severity::error, "gpu_not_measured", static_cast<std::int64_t>(trace.steps.size()),
          trace.nccl_channel_times > 0
              ? "steps on a GPU without a recorded kernel: compute and its overlap with communication were "
                "not measured; their columns contain the host's launch times or 0"
              : "steps on a GPU without a recorded kernel: NCCL's communication, compute and their overlap "
                "were not measured; their columns contain the host's launch times or 0",
          "see cupti_unavailable and 'ddpprof doctor'");
    std::int64_t diverged = 0, overflown = 0;
    for (StepSummary& step : shard.summary.steps) {
      if (step.row.loss && !std::isfinite(*step.row.loss)) {
        step.row.loss.reset();
        ++diverged;
      }
      if (step.row.learning_rate && !std::isfinite(*step.row.learning_rate)) step.row.learning_rate.reset();
      auto &local = step.row.local_gradient_sqr, &whole = step.row.gradient_sqr;
      if ((local && !std::isfinite(*local)) || (whole && !std::isfinite(*whole))) {
        local.reset();
        whole.reset();
        ++overflown;
      }
    }
    if (overflown > 0)
      diagnostics_.add(shard.rank, Severity::warning, "gradient_not_finite", overflown,
                       "steps whose gradient norm is infinite or not a number (stored as NULL)",
                       "the noise scale uses the other steps; with fp16 a gradient can overflow");
    if (diverged > 0)
      diagnostics_.add(shard.rank, Severity::warning, "loss_not_finite", diverged,
                       "steps whose loss is infinite or not a number (stored as NULL)",
                       "the training diverged: its times are valid, its loss is not; lower the learning rate");
    if (const std::int64_t lost = count_of(
            shard.summary.collectives, [](const CollectiveSummary& collective) { return !collective.fact.launch_ns; });
        lost > 0)
      diagnostics_.add(shard.rank, Severity::warning, "launch_mark_lost", lost,
                       "collectives without a launch mark: their start is used as the launch",
                       "their queueing time is 0; the usual reason is dropped records");
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
  std::vector<LoadedShard> shards_;  // without the facts that are already written
  bool have_parameters_ = false, have_members_ = false;
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
