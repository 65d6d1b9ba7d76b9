#include "analysis/timeline/raw.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>
#include <unordered_map>

#include "analysis/timeline/events.hpp"
#include "analysis/timeline/raw_names.hpp"
#include "analysis/timeline/raw_scan.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::timeline {
namespace {

// Runs work(0) here and work(1) in a second thread. When both are done, rethrows the first exception.
template <class Work>
void on_two_threads(RawShared& shared, Work work) {
  std::exception_ptr failed[2];
  const auto guarded = [&](int which) {
    try {
      work(which);
    } catch (...) {
      failed[which] = std::current_exception();
      shared.stopped = true;
    }
  };
  std::thread other(guarded, 1);
  guarded(0);
  other.join();
  for (const std::exception_ptr& failure : failed)
    if (failure) std::rethrow_exception(failure);
}

struct Job {
  RawKey key;
  std::vector<EventChunks> parts;
  std::vector<Row> rows;
};

std::string track_name(const RawKey& key, const std::map<std::pair<std::int64_t, std::int64_t>, std::string>& threads,
                       std::int64_t shard) {
  const auto named = threads.find({shard, key.group});
  const std::string name = named == threads.end() ? "" : " " + named->second;
  switch (key.kind) {
    case TrackKind::stream:
      return fmt::format("GPU {} stream {}", key.group, key.within);
    case TrackKind::cuda_calls:
      return fmt::format("CUDA calls {}{}", key.group, name);
    case TrackKind::nvtx_lanes:
      return fmt::format("NVTX {}{}, overlapping", key.group, name);
    default:  // imported ranges have no depth: operations, annotations, Python, or NVTX
      return fmt::format("{} {}{}", key.within < 0 ? "host" : "NVTX", key.group, name);
  }
}

void add_tracks(Draft& draft, std::vector<Job> jobs, SQLite::Database& db) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> threads;
  SQLite::Statement row(db,
                        "SELECT t.shard_id, t.tid, t.name FROM thread t JOIN shard sh ON sh.id = t.shard_id "
                        "WHERE sh.measurement_id = ?");
  row.bind(1, draft.timeline.measurement);
  while (row.executeStep())
    threads[{row.getColumn(0).getInt64(), row.getColumn(1).getInt64()}] = row.getColumn(2).getString();
  const RawKey* before = nullptr;
  for (Job& job : jobs) {
    std::vector<TrackDraft>& tracks = draft.tracks[job.key.rank];
    const bool deeper = before != nullptr && job.key.kind == TrackKind::nvtx && before->kind == job.key.kind &&
                        before->rank == job.key.rank && before->group == job.key.group;
    if (!deeper)
      tracks.push_back({job.key.kind, track_name(job.key, threads, draft.timeline.ranks[job.key.rank].shard), {}});
    for (Row& made : job.rows) tracks.back().rows.push_back(std::move(made));
    before = &job.key;
  }
}

// Returns the row at which to split the table so that both threads get about equally many rows of this measurement:
// between its first and last range, which are near its first and last row. A bad split costs only time.
std::int64_t middle_of_ranges(SQLite::Database& db, const RawShared& shared, std::int64_t last) {
  std::int64_t low = last, high = 0;
  for (const char* order : {"ASC", "DESC"}) {
    SQLite::Statement end(
        db, fmt::format("SELECT rowid FROM range WHERE shard_id = ? ORDER BY start_ns {} LIMIT 1", order));
    for (const auto& [shard, rank] : shared.rank_of_shard) {
      end.reset();
      end.bind(1, shard);
      if (!end.executeStep()) continue;
      low = std::min(low, end.getColumn(0).getInt64());
      high = std::max(high, end.getColumn(0).getInt64());
    }
  }
  return low < high ? low + (high - low) / 2 : last / 2;
}

}  // namespace

bool add_raw(const std::filesystem::path& path, Draft& draft, const LoadHooks& hooks) {
  store::Database database = store::Database::open_read(path);
  const SharedNames names(database.sql(), draft.timeline.names);
  RawShared shared{hooks, draft.timeline, names, {}, 0, {0}, {false}};
  for (std::uint32_t i = 0; i < draft.timeline.ranks.size(); ++i)
    if (draft.timeline.ranks[i].raw_kept) shared.rank_of_shard.emplace(draft.timeline.ranks[i].shard, i);
  struct Table {
    const char* name;
    void (RawScan::*read)(std::int64_t, std::int64_t);  // rows [first, last]
    std::int64_t middle = 0, last = 0;
  };
  Table tables[] = {{"range", &RawScan::ranges},
                    {"kernel", &RawScan::kernels},
                    {"memcpy", &RawScan::copies},
                    {"api_call", &RawScan::calls}};
  for (Table& table : tables) {
    table.last = store::last_row(database.sql(), table.name);
    table.middle =
        table.read == &RawScan::ranges ? middle_of_ranges(database.sql(), shared, table.last) : table.last / 2;
    shared.rows_in_all += table.last;
  }
  RawScan scans[2] = {{path, shared}, {path, shared}};
  on_two_threads(shared, [&](int which) {
    RawScan& scan = scans[which];
    for (const Table& table : tables) {
      if (shared.stopped) return;
      if (table.last == 0) continue;
      if (which == 0)
        (scan.*table.read)(0, table.middle);
      else
        (scan.*table.read)(table.middle + 1, table.last);
    }
  });
  if (shared.stopped) return false;
  std::map<RawKey, std::vector<EventChunks>> merged;
  for (RawScan& scan : scans)
    for (auto& [key, events] : scan.rows) merged[key].push_back(std::move(events));
  std::vector<Job> jobs;
  for (auto& [key, parts] : merged) jobs.push_back({key, std::move(parts), {}});
  std::atomic<std::size_t> next{0};
  on_two_threads(shared, [&](int) {
    for (std::size_t i = next++; i < jobs.size() && shared.go_on(0); i = next++) {
      const RawKey& key = jobs[i].key;
      const bool nests = key.kind == TrackKind::cuda_calls || (key.kind == TrackKind::nvtx && key.within < 0);
      jobs[i].rows = nests ? make_nested_rows(std::move(jobs[i].parts)) : make_rows(std::move(jobs[i].parts));
      for (Row& row : jobs[i].rows) make_levels(row);
    }
  });
  if (shared.stopped) return false;
  add_tracks(draft, std::move(jobs), database.sql());
  return true;
}

}  // namespace ddpprof::timeline
