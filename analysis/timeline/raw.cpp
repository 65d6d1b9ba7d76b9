#include "analysis/timeline/raw.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "analysis/timeline/events.hpp"
#include "analysis/timeline/raw_names.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/raw_rows.hpp"

namespace ddpprof::timeline {
namespace {

constexpr std::int64_t rows_between_checks = 16384;
constexpr std::int64_t map_bytes = std::int64_t{4} << 30;  // pages are read in place, not copied

struct Key {
  std::uint32_t rank = 0;
  TrackKind kind = TrackKind::nvtx;
  std::int64_t group = 0, within = 0;  // thread and depth, or device and stream
  auto operator<=>(const Key&) const = default;
};
using Rows = std::map<Key, EventChunks>;

struct Shared {
  const LoadHooks& hooks;
  const Timeline& timeline;
  const SharedNames& names;
  std::unordered_map<std::int64_t, std::uint32_t> rank_of_shard;  // of those that kept raw events
  std::int64_t rows_in_all = 0;
  std::atomic<std::int64_t> rows_read{0};
  std::atomic<bool> stopped{false};

  bool go_on(std::int64_t more_rows) {
    rows_read += more_rows;
    if (hooks.cancelled && hooks.cancelled()) stopped = true;
    if (hooks.progress && rows_in_all > 0)
      hooks.progress(static_cast<double>(rows_read.load()) / static_cast<double>(rows_in_all));
    return !stopped;
  }
};

// One thread's share: rows of each raw table with a rowid in [first, last].
class Scan {
 public:
  Scan(const std::filesystem::path& path, Shared& shared)
      : path_(path), shared_(shared), database_(store::Database::open_read(path)) {
    database_.sql().exec(fmt::format("PRAGMA mmap_size = {}", map_bytes));
  }
  Rows rows;

  void ranges(std::int64_t first, std::int64_t last);
  void kernels(std::int64_t first, std::int64_t last);
  void copies(std::int64_t first, std::int64_t last);
  void calls(std::int64_t first, std::int64_t last);

 private:
  // visit(statement, rank) for each row of a rank that is shown; column 0 is the rowid, 1 the shard.
  template <class Visit>
  void each(const char* sql, std::int64_t first, std::int64_t last, Visit visit) {
    sqlite3_stmt* raw = nullptr;
    sqlite3* handle = database_.sql().getHandle();
    check(sqlite3_prepare_v2(handle, sql, -1, &raw, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
    sqlite3_bind_int64(raw, 1, first);
    sqlite3_bind_int64(raw, 2, last);
    std::int64_t shard = 0, unchecked = 0;
    const std::uint32_t* rank = nullptr;
    bool looked_up = false;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
      const std::int64_t own = sqlite3_column_int64(raw, 1);
      if (!looked_up || own != shard) {
        shard = own;
        looked_up = true;
        const auto found = shared_.rank_of_shard.find(own);
        rank = found == shared_.rank_of_shard.end() ? nullptr : &found->second;
      }
      if (rank != nullptr) visit(raw, *rank);
      if (++unchecked == rows_between_checks) {
        if (!shared_.go_on(unchecked)) return;
        unchecked = 0;
      }
    }
    if (code != SQLITE_DONE) check(code);
    shared_.go_on(unchecked);
  }
  void check(int code) const {
    if (code != SQLITE_OK) throw store::translate(code, sqlite3_errmsg(database_handle()), path_);
  }
  sqlite3* database_handle() const { return const_cast<store::Database&>(database_).sql().getHandle(); }
  Event event(sqlite3_stmt* row, std::uint32_t rank, int start, int end, std::uint32_t name) const {
    const store::ClockAlignment& clock = shared_.timeline.ranks[rank].alignment;
    std::int64_t from = sqlite3_column_int64(row, start), to = sqlite3_column_int64(row, end);
    if (clock.offset_ns != 0 || clock.drift_ppb != 0.0) {
      from = store::to_reference_ns(clock, from);
      to = store::to_reference_ns(clock, to);
    }
    const std::int64_t id = sqlite3_column_int64(row, 0);
    return {from, std::max<std::int64_t>(0, to - from), name,
            id >= 0 && id < no_argument ? static_cast<std::uint32_t>(id) : no_argument};
  }

  const std::filesystem::path& path_;
  Shared& shared_;
  store::Database database_;
};

void Scan::ranges(std::int64_t first, std::int64_t last) {
  constexpr std::int64_t cached_depths = 64;
  struct Thread {
    EventChunks* depths[cached_depths] = {};
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, Thread> threads;
  std::pair<std::uint32_t, std::int64_t> current{no_argument, 0};
  Thread* thread = nullptr;
  std::int64_t name_id = -1;
  std::uint32_t name = 0;
  each("SELECT rowid, shard_id, tid, name_id, kind, depth, start_ns, end_ns FROM range WHERE rowid BETWEEN ? AND ?",
       first, last, [&](sqlite3_stmt* row, std::uint32_t rank) {
         const std::int64_t tid = sqlite3_column_int64(row, 2), id = sqlite3_column_int64(row, 3);
         const std::int64_t depth = sqlite3_column_int64(row, 5);
         const bool open = sqlite3_column_type(row, 7) == SQLITE_NULL;
         if (id != name_id) {
           name_id = id;
           name = shared_.names.range(id);
         }
         Event made = event(row, rank, 6, open ? 6 : 7, open ? shared_.names.unfinished(id) : name);
         if (sqlite3_column_int64(row, 4) == static_cast<std::int64_t>(store::RangeKind::start_end)) {
           rows[{rank, TrackKind::nvtx_lanes, tid, 0}].add(made);
           return;
         }
         if (depth < 0 || depth >= cached_depths) {
           rows[{rank, TrackKind::nvtx, tid, depth}].add(made);
           return;
         }
         if (thread == nullptr || current != std::pair(rank, tid)) {
           current = {rank, tid};
           thread = &threads[current];
         }
         EventChunks*& chunks = thread->depths[depth];
         if (chunks == nullptr) chunks = &rows[{rank, TrackKind::nvtx, tid, depth}];
         chunks->add(made);
       });
}

void Scan::kernels(std::int64_t first, std::int64_t last) {
  std::unordered_map<std::int64_t, std::uint32_t> names;
  each("SELECT rowid, shard_id, device, stream, name_id, start_ns, end_ns FROM kernel WHERE rowid BETWEEN ? AND ?",
       first, last, [&](sqlite3_stmt* row, std::uint32_t rank) {
         const std::int64_t id = sqlite3_column_int64(row, 4);
         const auto [known, fresh] = names.try_emplace(id, 0);
         if (fresh) known->second = shared_.names.kernel(id);
         rows[{rank, TrackKind::stream, sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3)}].add(
             event(row, rank, 5, 6, known->second));
       });
}

void Scan::copies(std::int64_t first, std::int64_t last) {
  std::map<std::string, std::uint32_t, std::less<>> names;
  each("SELECT rowid, shard_id, device, stream, kind, start_ns, end_ns FROM memcpy WHERE rowid BETWEEN ? AND ?", first,
       last, [&](sqlite3_stmt* row, std::uint32_t rank) {
         const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, 4));
         const std::string kind = text == nullptr ? "copy" : text;
         const auto [known, fresh] = names.try_emplace(kind, 0);
         if (fresh) known->second = shared_.names.intern(kind, Category::memory_copy);
         rows[{rank, TrackKind::stream, sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3)}].add(
             event(row, rank, 5, 6, known->second));
       });
}

void Scan::calls(std::int64_t first, std::int64_t last) {
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> names;
  each(
      "SELECT rowid, shard_id, tid, domain, cbid, start_ns, end_ns FROM api_call WHERE rowid BETWEEN ? AND ?", first,
      last, [&](sqlite3_stmt* row, std::uint32_t rank) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, 3));
        const std::pair<std::string, std::int64_t> key(text == nullptr ? "cuda" : text, sqlite3_column_int64(row, 4));
        const auto [known, fresh] = names.try_emplace(key, 0);
        if (fresh)
          known->second = shared_.names.intern(fmt::format("{} call {}", key.first, key.second), Category::cuda_call);
        rows[{rank, TrackKind::cuda_calls, sqlite3_column_int64(row, 2), 0}].add(event(row, rank, 5, 6, known->second));
      });
}

// Runs work(0) here and work(1) on a thread of its own; the first exception of either is thrown when both are done.
template <class Work>
void on_two_threads(Shared& shared, Work work) {
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
  Key key;
  std::vector<EventChunks> parts;
  std::vector<Row> rows;
};

std::string track_name(const Key& key, const std::map<std::pair<std::int64_t, std::int64_t>, std::string>& threads,
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
    default:
      return fmt::format("NVTX {}{}", key.group, name);
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
  const Key* before = nullptr;
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

// Where to cut so that both threads get about as many rows of this measurement: between the first and the last of its
// ranges, which are near its first and last row. A bad guess costs time alone.
std::int64_t middle_of_ranges(SQLite::Database& db, const Shared& shared, std::int64_t last) {
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
  Shared shared{hooks, draft.timeline, names, {}, 0, {0}, {false}};
  for (std::uint32_t i = 0; i < draft.timeline.ranks.size(); ++i)
    if (draft.timeline.ranks[i].raw_kept) shared.rank_of_shard.emplace(draft.timeline.ranks[i].shard, i);
  struct Table {
    const char* name;
    void (Scan::*read)(std::int64_t, std::int64_t);  // rows [first, last]
    std::int64_t middle = 0, last = 0;
  };
  Table tables[] = {
      {"range", &Scan::ranges}, {"kernel", &Scan::kernels}, {"memcpy", &Scan::copies}, {"api_call", &Scan::calls}};
  for (Table& table : tables) {
    table.last = database.sql().execAndGet("SELECT COALESCE(MAX(rowid), 0) FROM " + std::string(table.name)).getInt64();
    table.middle = table.read == &Scan::ranges ? middle_of_ranges(database.sql(), shared, table.last) : table.last / 2;
    shared.rows_in_all += table.last;
  }
  Scan scans[2] = {{path, shared}, {path, shared}};
  on_two_threads(shared, [&](int which) {
    Scan& scan = scans[which];
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
  std::map<Key, std::vector<EventChunks>> merged;
  for (Scan& scan : scans)
    for (auto& [key, events] : scan.rows) merged[key].push_back(std::move(events));
  std::vector<Job> jobs;
  for (auto& [key, parts] : merged) jobs.push_back({key, std::move(parts), {}});
  std::atomic<std::size_t> next{0};
  on_two_threads(shared, [&](int) {
    for (std::size_t i = next++; i < jobs.size() && shared.go_on(0); i = next++) {
      jobs[i].rows = make_rows(std::move(jobs[i].parts));
      for (Row& row : jobs[i].rows) make_levels(row);
    }
  });
  if (shared.stopped) return false;
  add_tracks(draft, std::move(jobs), database.sql());
  return true;
}

}  // namespace ddpprof::timeline
