#include "analysis/timeline/raw_scan.hpp"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "tracer/store/rows/raw_rows.hpp"

namespace ddpprof::timeline {
namespace {

constexpr std::int64_t rows_between_checks = 16384;
constexpr std::int64_t map_bytes = std::int64_t{4} << 30;  // pages are read in place, not copied

}  // namespace

RawScan::RawScan(const std::filesystem::path& path, RawShared& shared)
    : path_(path), shared_(shared), database_(store::Database::open_read(path)) {
  database_.sql().exec(fmt::format("PRAGMA mmap_size = {}", map_bytes));
}

template <class Visit>
void RawScan::each(const char* sql, std::int64_t first, std::int64_t last, Visit visit) {
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

void RawScan::check(int code) const {
  if (code != SQLITE_OK) throw store::translate(code, sqlite3_errmsg(database_handle()), path_);
}

Event RawScan::event(sqlite3_stmt* row, std::uint32_t rank, int start, int end, std::uint32_t name) const {
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

void RawScan::ranges(std::int64_t first, std::int64_t last) {
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

void RawScan::kernels(std::int64_t first, std::int64_t last) {
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

void RawScan::copies(std::int64_t first, std::int64_t last) {
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

void RawScan::calls(std::int64_t first, std::int64_t last) {
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> names;
  std::unordered_map<std::int64_t, std::uint32_t> named;
  each("SELECT rowid, shard_id, tid, domain, cbid, start_ns, end_ns, name_id FROM api_call WHERE rowid BETWEEN ? AND ?",
       first, last, [&](sqlite3_stmt* row, std::uint32_t rank) {
         const RawKey key_of_track{rank, TrackKind::cuda_calls, sqlite3_column_int64(row, 2), 0};
         if (sqlite3_column_type(row, 7) != SQLITE_NULL) {
           const std::int64_t id = sqlite3_column_int64(row, 7);
           const auto [known, fresh] = named.try_emplace(id, 0);
           if (fresh) known->second = shared_.names.call(id);
           rows[key_of_track].add(event(row, rank, 5, 6, known->second));
           return;
         }
         const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, 3));
         const std::pair<std::string, std::int64_t> key(text == nullptr ? "cuda" : text, sqlite3_column_int64(row, 4));
         const auto [known, fresh] = names.try_emplace(key, 0);
         if (fresh)
           known->second = shared_.names.intern(fmt::format("{} call {}", key.first, key.second), Category::cuda_call);
         rows[key_of_track].add(event(row, rank, 5, 6, known->second));
       });
}

}  // namespace ddpprof::timeline
