#include "analysis/import/load/import.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/clocks.hpp"
#include "analysis/import/load/cycles.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/import/load/lanes.hpp"
#include "analysis/import/load/measurement.hpp"
#include "analysis/import/load/profiler_cost_note.hpp"
#include "analysis/import/load/ranks.hpp"
#include "analysis/import/load/row_writer.hpp"
#include "analysis/import/load/unlike.hpp"
#include "analysis/import/load/warmup.hpp"
#include "analysis/import/recorded/processes.hpp"
#include "analysis/ingest/matching.hpp"
#include "analysis/ingest/measurement_writer.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::import {
namespace {

using ingest::LoadedShard;
using ingest::Severity;

constexpr std::size_t lanes_with_raw = 4;

class Load {
 public:
  Load(store::Database& database, const ImportOptions& options, const std::vector<Note>& notes)
      : database_(database), options_(options) {
    for (const Note& note : notes) add(std::nullopt, note);
  }

  ImportResult run() {
    read_files();
    for (const ReadRank& file : files_)
      if (file.device_bounds && options_.keep_raw) forget_misplaced(shard_of(file.source), *file.device_bounds);
    for (const JoinedCycle& cycle : join_cycles(files_)) move_raw(cycle);
    const RankAssignment assignment = assign_ranks(files_);
    result_.world_size = assignment.world_size;
    for (const Note& note : assignment.notes) add(std::nullopt, note);
    make_shards(assignment);
    if (std::all_of(of_shard_.begin(), of_shard_.end(), [&](std::size_t file) { return files_[file].recorded; }))
      if (const std::optional<Note> warmup = mark_warmup(shards_)) add(std::nullopt, *warmup);
    compare_ranks();
    if (const std::optional<Note> cost = note_on_profiler_cost(shards_)) add(std::nullopt, *cost);
    write_measurement(assignment);
    match(assignment);
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

  void read_files() {
    const std::size_t count = options_.files.size();
    // With raw events the number of lanes is the same on every machine, because the order of rows depends on it.
    const std::size_t wanted = options_.threads > 0 ? static_cast<std::size_t>(options_.threads)
                               : options_.keep_raw  ? lanes_with_raw
                                                    : std::max(1U, std::thread::hardware_concurrency());
    ReadOptions read;
    read.training = {options_.batch_per_worker, options_.parameter_bytes};
    read.sort.folder = options_.temporary_folder;
    std::vector<std::vector<ReadRank>> results(count);
    first_source_.assign(1, 0);
    for (const std::filesystem::path& file : options_.files)
      first_source_.push_back(first_source_.back() + most_ranks(file));
    std::vector<std::exception_ptr> failures(count);
    first_shard_ = ingest::next_id(database_, "shard");
    std::optional<RowWriter> writer;
    Lanes lanes(std::min(count, wanted), [&](std::size_t lane, std::size_t of) {
      for (std::size_t i = lane; i < count; i += of) try {
          results[i] =
              read_ranks(options_.files[i], read, options_.keep_raw ? &writer->lane(lane) : nullptr, first_source_[i]);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      writer->end_lane(lane);
    });
    read.sort.bound_bytes = options_.memory_bytes / lanes.count();
    try {
      writer.emplace(database_, first_shard_, lanes.count());
    } catch (const std::system_error& error) {
      throw ImportError(
          fmt::format("cannot start the thread that writes the database ({}); end other processes, or raise the limit "
                      "of processes (ulimit -u)",
                      error.code().message()));
    }
    lanes.run();
    writer->close();
    keep_sound(results, failures);
  }

  // Unusable files among several are reported and left out. If there is one file, or all are unusable, this is an
  // error.
  void keep_sound(std::vector<std::vector<ReadRank>>& results, const std::vector<std::exception_ptr>& failures) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!failures[i]) {
        for (ReadRank& rank : results[i]) files_.push_back(std::move(rank));
        continue;
      }
      forget_raw(first_source_[i], first_source_[i + 1]);
      try {
        std::rethrow_exception(failures[i]);
      } catch (const ImportError& error) {
        unusable_.emplace_back(error.what());
      } catch (const OpenError& error) {
        unusable_.emplace_back(error.what());
      }
    }
    if (files_.empty()) throw ImportError(fmt::format("{}", fmt::join(unusable_, "\n")));
    for (const std::string& why : unusable_)
      add(std::nullopt, {Severity::error, "file_unusable", 1, why, "the other files are imported without it"});
  }

  // Events that were left out must not be in the timeline either.
  void forget_misplaced(std::int64_t shard_id, std::pair<std::int64_t, std::int64_t> bounds) {
    for (const char* table : {"kernel", "memcpy"})
      database_.sql().exec(fmt::format("DELETE FROM \"{}\" WHERE shard_id = {} AND start_ns NOT BETWEEN {} AND {}",
                                       table, shard_id, bounds.first, bounds.second));
  }

  std::int64_t shard_of(std::size_t source) const { return first_shard_ + static_cast<std::int64_t>(source); }

  void move_raw(const JoinedCycle& cycle) {
    if (!options_.keep_raw) return;
    for (const char* table : {"range", "kernel", "memcpy", "api_call"})
      database_.sql().exec(fmt::format(
          "UPDATE \"{}\" SET shard_id = {}, start_ns = start_ns + {}, end_ns = end_ns + {} WHERE shard_id = {}", table,
          shard_of(cycle.into), cycle.shift_ns, cycle.shift_ns, shard_of(cycle.from)));
  }

  void forget_raw(std::size_t source, std::size_t end) {
    for (const char* table : {"range", "kernel", "memcpy", "api_call"})
      database_.sql().exec(fmt::format("DELETE FROM \"{}\" WHERE shard_id >= {} AND shard_id < {}", table,
                                       first_shard_ + static_cast<std::int64_t>(source),
                                       first_shard_ + static_cast<std::int64_t>(end)));
  }

  void make_shards(const RankAssignment& assignment) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!assignment.ranks[i]) {
        forget_raw(files_[i].source, files_[i].source + 1);
        continue;
      }
      ReadRank& file = files_[i];
      LoadedShard shard;
      shard.shard_id = shard_of(file.source);
      shard.rank = *assignment.ranks[i];
      shard.raw_kept = options_.keep_raw;
      shard.trace = std::move(file.training.shard);
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
    for (std::size_t i = 0; i < shards_.size(); ++i) ranks.push_back({shards_[i].rank, &files_[of_shard_[i]]});
    for (const Note& note : notes_on_differences(ranks)) add(std::nullopt, note);
  }

  std::vector<ImportedRank> ranks() const {
    std::vector<ImportedRank> ranks;
    for (std::size_t i = 0; i < shards_.size(); ++i) ranks.push_back({&shards_[i], &files_[of_shard_[i]]});
    return ranks;
  }

  void write_measurement(const RankAssignment& assignment) {
    auto [row, notes] = describe_measurement(ranks(), assignment, options_);
    for (const Note& note : notes) add(std::nullopt, note);
    row.repeat = repeat_of(assignment.world_size);
    result_.measurement_id = store::Inserter<store::MeasurementRow>(database_).insert(row);
  }

  std::int64_t repeat_of(std::int64_t world_size) {
    SQLite::Statement query(database_.sql(),
                            "SELECT count(*) FROM measurement WHERE kind = 'import' AND world_size = ?");
    query.bind(1, world_size);
    query.executeStep();
    return query.getColumn(0).getInt64();
  }

  void match(const RankAssignment& assignment) {
    const bool recorded = std::all_of(of_shard_.begin(), of_shard_.end(),
                                      [&](std::size_t file) { return files_[file].training.sequences_recorded; });
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
    if (result_.ranks > 1 || assignment.world_size == 1)
      diagnostics_.add_unmatched(ingest::match_collectives(ranks, {}));
    std::vector<RankClock> clocks;
    for (const std::size_t index : of_shard_) {
      const ReadRank& file = files_[index];
      clocks.push_back({file.clock.empty() ? file.file.string() : file.clock, file.base_ns});
    }
    align_ranks(shards_, clocks);
  }

  store::Database& database_;
  const ImportOptions& options_;
  ImportResult result_;
  std::int64_t first_shard_ = 1;
  // for each file of the options its first source, and a last element: one past the last source
  std::vector<std::size_t> first_source_;
  std::vector<ReadRank> files_;        // files that were read
  std::vector<std::size_t> of_shard_;  // for each shard, its index in files_
  std::vector<std::string> unusable_;
  std::vector<LoadedShard> shards_;
  ingest::Diagnostics diagnostics_;
};

// Keeps the recorded shards of ranks. Returns notes about the other shards.
std::vector<Note> keep_ranks(std::vector<std::filesystem::path>& files) {
  std::vector<std::filesystem::path> shards;
  std::erase_if(files, [&](const std::filesystem::path& file) {
    if (kind_of(file) != FileKind::shard) return false;
    shards.push_back(file);
    return true;
  });
  if (shards.empty()) return {};
  RecordedJob job = ranks_of_job(shards);
  files.insert(files.end(), job.ranks.begin(), job.ranks.end());
  return job.notes;
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
    const ImportResult result = Load(database, options, left_out).run();
    load.commit();
    malloc_trim(0);  // memory freed by many threads stays in their arenas and would add to what fits allocate next
    return result;
  } catch (const SQLite::Exception& failure) {
    throw store::translate(failure, database.path());
  }
}

}  // namespace ddpprof::import
