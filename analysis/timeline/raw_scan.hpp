// Reads one thread's share of the raw tables into events by track.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "analysis/timeline/events.hpp"
#include "analysis/timeline/load.hpp"
#include "analysis/timeline/raw_names.hpp"
#include "analysis/timeline/tracks.hpp"
#include "tracer/store/clock.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::timeline {

struct RawKey {
  std::uint32_t rank = 0;
  TrackKind kind = TrackKind::nvtx;
  std::int64_t group = 0, within = 0;  // thread and depth (-1: by nesting of times), or device and stream
  auto operator<=>(const RawKey&) const = default;
};
using RawRows = std::map<RawKey, EventChunks>;

struct RawShared {
  const LoadHooks& hooks;
  const Timeline& timeline;
  const SharedNames& names;
  std::unordered_map<std::int64_t, std::uint32_t> rank_of_shard;  // of shards that kept raw events
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

// One thread's share: the rows of each raw table with a rowid in [first, last].
class RawScan {
 public:
  RawScan(const std::filesystem::path& path, RawShared& shared);
  RawRows rows;

  void ranges(std::int64_t first, std::int64_t last);
  void kernels(std::int64_t first, std::int64_t last);
  void copies(std::int64_t first, std::int64_t last);
  void calls(std::int64_t first, std::int64_t last);

 private:
  // Calls visit(statement, rank) for each row of a displayed rank; column 0 is the rowid, 1 the shard.
  template <class Visit>
  void each(const char* sql, std::int64_t first, std::int64_t last, Visit visit);
  void check(int code) const;
  sqlite3* database_handle() const { return const_cast<store::Database&>(database_).sql().getHandle(); }
  Event event(sqlite3_stmt* row, std::uint32_t rank, int start, int end, std::uint32_t name) const;

  const std::filesystem::path& path_;
  RawShared& shared_;
  store::Database database_;
};

}  // namespace ddpprof::timeline
