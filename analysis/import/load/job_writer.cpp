#include "analysis/import/load/job_writer.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analysis/import/load/clocks.hpp"
#include "analysis/import/load/measurement.hpp"
#include "analysis/import/load/profiler_cost_note.hpp"
#include "analysis/import/load/reading/read_files.hpp"
#include "analysis/import/load/unlike.hpp"
#include "analysis/import/load/warmup.hpp"
#include "analysis/ingest/matching.hpp"
#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::import {
namespace {

using ingest::LoadedShard;
using ingest::Severity;

// Returns the name of the file's clock. torch.profiler records the time of day, which all processes of a machine share.
std::string clock_of(const ReadRank& file) {
  if (!file.clock.empty()) return file.clock;
  if (file.job && !file.job->boot_id.empty())
    return fmt::format("{}, time of day from {}", file.job->boot_id, file.base_ns);
  return file.file.string();
}

class JobWriter {
 public:
  JobWriter(store::Database& database, const ImportOptions& options, JobToWrite&& job, std::int64_t first_shard)
      : database_(database), options_(options), job_(std::move(job)), first_shard_(first_shard) {}

  ImportedJob run(const SharedFacts& shared, std::size_t number) {
    if (job_.assignment.world_size_known) result_.world_size = job_.assignment.world_size;
    for (const Note& note : job_.notes) add(std::nullopt, note);
    for (const Note& note : job_.assignment.notes) add(std::nullopt, note);
    make_shards();
    if (std::ranges::all_of(of_shard_, [&](std::size_t file) { return job_.files[file].training.sizes_assumed; }))
      share_assumed_sizes(shards_);
    if (std::all_of(of_shard_.begin(), of_shard_.end(), [&](std::size_t file) { return job_.files[file].recorded; }))
      if (const std::optional<Note> warmup = mark_warmup(shards_)) add(std::nullopt, *warmup);
    compare_ranks();
    if (const std::optional<Note> cost = note_on_profiler_cost(shards_)) add(std::nullopt, *cost);
    write_measurement(shared, number);
    match();
    if (options_.append) check_steps();
    ingest::MeasurementWriter writer(database_, result_.measurement_id, diagnostics_);
    writer.write_model(shards_);
    result_.steps = writer.write_steps(shards_);
    writer.write_shards(shards_);
    write_device_rows(database_, result_.measurement_id, ranks());
    store::Inserter<store::DiagnosticRow> rows(database_);
    for (const store::DiagnosticRow& row : diagnostics_.rows(result_.measurement_id)) rows.insert(row);
    return result_;
  }

 private:
  void add(std::optional<std::int64_t> rank, const Note& note) {
    diagnostics_.add(rank, note.severity, note.code, note.count, note.message, note.advice);
  }

  void make_shards() {
    for (std::size_t i = 0; i < job_.files.size(); ++i) {
      ReadRank& file = job_.files[i];
      const std::int64_t shard_id = first_shard_ + static_cast<std::int64_t>(file.source);
      if (!job_.assignment.ranks[i]) {
        forget_raw(database_, shard_id, shard_id + 1);
        continue;
      }
      LoadedShard shard;
      shard.shard_id = shard_id;
      shard.rank = *job_.assignment.ranks[i];
      shard.raw_kept = options_.keep_raw;
      shard.trace = std::move(file.training.shard);
      // Samples are multiplied by the number of ranks.
      if (!job_.assignment.world_size_known)
        for (ingest::StepFact& step : shard.trace.steps) step.samples = 0;
      // Without host events, device events give the begin and the end of the recording.
      store::EventSpan& events = shard.trace.events;
      if (events.last_ns < events.first_ns && !file.training.device_times.empty()) {
        const Window& all = file.training.device_times.front().window;
        events.add(all.start_ns);
        events.add(all.end_ns);
      }
      shard.trace.info.rank = static_cast<std::int32_t>(shard.rank);
      if (file.recorded) diagnostics_.add_shard(shard.rank, shard.trace);
      for (const Note& note : file.notes) add(shard.rank, note);
      for (const Note& note : file.training.notes) add(shard.rank, note);
      result_.events += file.events;
      of_shard_.push_back(i);
      shards_.push_back(std::move(shard));
    }
    result_.ranks = static_cast<std::int64_t>(shards_.size());
  }

  void compare_ranks() {
    std::vector<RankOfFile> ranks;
    for (std::size_t i = 0; i < shards_.size(); ++i) ranks.push_back({shards_[i].rank, &job_.files[of_shard_[i]]});
    for (const Note& note : notes_on_differences(ranks)) add(std::nullopt, note);
  }

  std::vector<ImportedRank> ranks() const {
    std::vector<ImportedRank> ranks;
    for (std::size_t i = 0; i < shards_.size(); ++i) ranks.push_back({&shards_[i], &job_.files[of_shard_[i]]});
    return ranks;
  }

  void write_measurement(const SharedFacts& shared, std::size_t number) {
    auto [row, notes] = describe_measurement(ranks(), job_.assignment, job_.hosts, shared, number);
    for (const Note& note : notes) add(std::nullopt, note);
    result_.file = ranks().front().file->file;
    result_.batch_per_worker = row.batch_per_worker;
    if (options_.append) check_new(row);
    add_labels(row);
    row.repeat = repeat_of(row);
    result_.measurement_id = store::Inserter<store::MeasurementRow>(database_).insert(row);
  }

  void add_labels(store::MeasurementRow& row) const {
    if (options_.labels.empty()) return;
    nlohmann::json options = nlohmann::json::parse(row.options);
    for (const auto& [name, value] : options_.labels) options[name] = value;
    row.options = options.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  // Refuses a job of equally many ranks that began in the same nanosecond as an earlier one. Its length does not count:
  // it is derived from the steps, which another version of this program may have found otherwise.
  void check_new(const store::MeasurementRow& row) {
    if (row.started_utc_ns == 0) return;
    SQLite::Statement query(
        database_.sql(), "SELECT id FROM measurement WHERE kind = 'import' AND world_size = ? AND started_utc_ns = ?");
    query.bind(1, row.world_size);
    query.bind(2, row.started_utc_ns);
    if (query.executeStep())
      throw ImportError(
          fmt::format("{}: the database has this job as measurement {} (expected a job that it does not "
                      "have; nothing was added)",
                      result_.file.string(), query.getColumn(0).getInt64()));
  }

  std::vector<std::int64_t> stored_step_starts(std::int64_t measurement) {
    SQLite::Statement query(database_.sql(),
                            "SELECT st.start_ns FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE "
                            "sh.measurement_id = ? ORDER BY 1");
    query.bind(1, measurement);
    std::vector<std::int64_t> starts_ns;
    while (query.executeStep()) starts_ns.push_back(query.getColumn(0).getInt64());
    return starts_ns;
  }

  // Refuses a job if most of its steps start in the same nanosecond as those of an earlier measurement: the same
  // traces, perhaps in other files, or read by another version that derives other lengths, samples or numbers of ranks.
  void check_steps() {
    std::vector<std::int64_t> own;
    for (const LoadedShard& shard : shards_)
      for (const ingest::StepSummary& step : shard.summary.steps) own.push_back(step.row.start_ns);
    if (own.empty()) return;
    std::ranges::sort(own);
    SQLite::Statement query(database_.sql(),
                            "SELECT o.id FROM measurement m JOIN measurement o ON o.id <> m.id AND o.kind = m.kind AND "
                            "o.started_utc_ns = m.started_utc_ns WHERE m.id = ?");
    query.bind(1, result_.measurement_id);
    while (query.executeStep()) {
      const std::vector<std::int64_t> other = stored_step_starts(query.getColumn(0).getInt64());
      std::vector<std::int64_t> common;
      std::ranges::set_intersection(own, other, std::back_inserter(common));
      if (2 * common.size() > std::max(own.size(), other.size()))
        throw ImportError(
            fmt::format("{}: the database has this job as measurement {}: {} of its {} steps start at the same times "
                        "(expected each job once; nothing was added)",
                        result_.file.string(), query.getColumn(0).getInt64(), common.size(), own.size()));
    }
  }

  std::int64_t repeat_of(const store::MeasurementRow& row) {
    SQLite::Statement query(
        database_.sql(),
        "SELECT count(*) FROM measurement WHERE kind = 'import' AND world_size = ? AND strategy = ? "
        "AND model = ? AND batch_per_worker = ? AND accumulation = ?");
    query.bind(1, row.world_size);
    query.bind(2, row.strategy);
    query.bind(3, row.model);
    query.bind(4, row.batch_per_worker);
    query.bind(5, row.accumulation);
    query.executeStep();
    return query.getColumn(0).getInt64();
  }

  void match() {
    const bool recorded = std::all_of(of_shard_.begin(), of_shard_.end(),
                                      [&](std::size_t file) { return job_.files[file].training.sequences_recorded; });
    if (const std::int64_t unlike = number_collectives(shards_, recorded); unlike > 0)
      add(std::nullopt, {Severity::warning, "collectives_unlike", unlike,
                         "collectives whose kind or size differs between ranks at the same place",
                         "they cannot be matched: their wait and transfer are not separated"});
    std::vector<ingest::RankCollectives> ranks;
    for (LoadedShard& shard : shards_) {
      shard.summary = ingest::summarise(shard.trace);
      ranks.push_back({shard.rank, &shard.summary});
    }
    // Ranks without a file give no data. The waiting times of the ranks that have a file still follow from each other.
    if (result_.ranks > 1 || result_.world_size == 1) diagnostics_.add_unmatched(ingest::match_collectives(ranks, {}));
    std::vector<RankClock> clocks;
    for (const std::size_t index : of_shard_) {
      const ReadRank& file = job_.files[index];
      clocks.push_back({clock_of(file), file.base_ns});
    }
    align_ranks(shards_, clocks);
  }

  store::Database& database_;
  const ImportOptions& options_;
  JobToWrite job_;
  std::int64_t first_shard_;
  ImportedJob result_;
  std::vector<std::size_t> of_shard_;  // for each shard, its index in the job's files
  std::vector<LoadedShard> shards_;
  ingest::Diagnostics diagnostics_;
};

}  // namespace

ImportedJob write_job(store::Database& database, const ImportOptions& options, JobToWrite&& job,
                      std::int64_t first_shard, const SharedFacts& shared, std::size_t number) {
  return JobWriter(database, options, std::move(job), first_shard).run(shared, number);
}

}  // namespace ddpprof::import
