#include "analysis/import/load/reading/read_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/cycles.hpp"
#include "analysis/import/load/reading/lanes.hpp"
#include "analysis/import/load/reading/row_writer.hpp"
#include "analysis/ingest/measurement_writer.hpp"

namespace ddpprof::import {
namespace {

constexpr std::size_t lanes_with_raw = 4;

class FileReading {
 public:
  FileReading(store::Database& database, const ImportOptions& options) : database_(database), options_(options) {}

  ReadFiles run() {
    read();
    for (const ReadRank& rank : result_.ranks)
      if (rank.device_bounds && options_.keep_raw) forget_misplaced(result_.shard_of(rank), *rank.device_bounds);
    for (const JoinedCycle& cycle : join_cycles(result_.ranks)) move_raw(cycle);
    return std::move(result_);
  }

 private:
  std::int64_t shard_of(std::size_t source) const { return result_.first_shard + static_cast<std::int64_t>(source); }

  void read() {
    const std::size_t count = options_.files.size();
    // With raw events the number of lanes is the same on every machine, because the order of rows depends on it.
    const std::size_t wanted = options_.threads > 0 ? static_cast<std::size_t>(options_.threads)
                               : options_.keep_raw  ? lanes_with_raw
                                                    : std::max(1U, std::thread::hardware_concurrency());
    ReadOptions read;
    read.training = {options_.batch_per_worker, options_.parameter_bytes};
    read.sort.folder = options_.temporary_folder;
    read.progress = options_.progress.get();
    std::vector<std::vector<ReadRank>> results(count);
    first_source_.assign(1, 0);
    for (const std::filesystem::path& file : options_.files)
      first_source_.push_back(first_source_.back() + most_ranks(file));
    std::vector<std::exception_ptr> failures(count);
    result_.first_shard = ingest::next_id(database_, "shard");
    std::optional<RowWriter> writer;
    Lanes lanes(std::min(count, wanted), [&](std::size_t lane, std::size_t of) {
      for (std::size_t i = lane; i < count; i += of) try {
          if (read.progress != nullptr && read.progress->stop) throw ImportStopped();
          results[i] =
              read_ranks(options_.files[i], read, options_.keep_raw ? &writer->lane(lane) : nullptr, first_source_[i]);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      writer->end_lane(lane);
    });
    read.sort.bound_bytes = options_.memory_bytes / lanes.count();
    try {
      writer.emplace(database_, result_.first_shard, lanes.count());
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
        for (ReadRank& rank : results[i]) result_.ranks.push_back(std::move(rank));
        continue;
      }
      if (options_.keep_raw) forget_raw(database_, shard_of(first_source_[i]), shard_of(first_source_[i + 1]));
      try {
        std::rethrow_exception(failures[i]);
      } catch (const ImportError& error) {
        result_.unusable.emplace_back(error.what());
      } catch (const OpenError& error) {
        result_.unusable.emplace_back(error.what());
      }
    }
    if (result_.ranks.empty()) throw ImportError(fmt::format("{}", fmt::join(result_.unusable, "\n")));
  }

  // Events that were left out must not be in the timeline either.
  void forget_misplaced(std::int64_t shard_id, std::pair<std::int64_t, std::int64_t> bounds) {
    for (const char* table : {"kernel", "memcpy"})
      database_.sql().exec(fmt::format("DELETE FROM \"{}\" WHERE shard_id = {} AND start_ns NOT BETWEEN {} AND {}",
                                       table, shard_id, bounds.first, bounds.second));
  }

  void move_raw(const JoinedCycle& cycle) {
    if (!options_.keep_raw) return;
    for (const char* table : {"range", "kernel", "memcpy", "api_call"})
      database_.sql().exec(fmt::format(
          "UPDATE \"{}\" SET shard_id = {}, start_ns = start_ns + {}, end_ns = end_ns + {} WHERE shard_id = {}", table,
          shard_of(cycle.into), cycle.shift_ns, cycle.shift_ns, shard_of(cycle.from)));
  }

  store::Database& database_;
  const ImportOptions& options_;
  ReadFiles result_;
  // for each file of the options its first source, and a last element: one past the last source
  std::vector<std::size_t> first_source_;
};

}  // namespace

ReadFiles read_files(store::Database& database, const ImportOptions& options) {
  return FileReading(database, options).run();
}

void forget_raw(store::Database& database, std::int64_t first, std::int64_t end) {
  for (const char* table : {"range", "kernel", "memcpy", "api_call"})
    database.sql().exec(fmt::format("DELETE FROM \"{}\" WHERE shard_id >= {} AND shard_id < {}", table, first, end));
}

}  // namespace ddpprof::import
