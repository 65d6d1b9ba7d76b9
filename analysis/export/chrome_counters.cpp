// Writes the counter "overlap" of a rank: whether it computes, communicates, or does both at once, as far as the
// database has the data.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "analysis/export/chrome_shards.hpp"
#include "analysis/export/chrome_writer.hpp"
#include "analysis/ingest/intervals.hpp"
#include "analysis/timeline/draft.hpp"

namespace ddpprof::export_ {
namespace {

enum Kind : std::uint8_t { compute, communication };

// Kernels are separated by tens of thousands of gaps of microseconds. Without communication such gaps are not of
// interest here, and the streams' tracks show each of them. During communication every gap is kept.
constexpr std::int64_t filled_gap_ns = 100'000;

// Makes one pass over intervals in the order of their starts. Writes an event when the level changes; levels that last
// 0 ns are left out.
class Levels {
 public:
  // Gaps in computing that are shorter than `filled_ns`, with no communication on either side, count as computing.
  Levels(ChromeWriter& writer, Track track, std::int64_t filled_ns)
      : writer_(writer), track_(track), filled_ns_(filled_ns) {}

  void add(std::int64_t start_ns, std::int64_t end_ns, Kind kind) {
    pass_to(start_ns);
    busy_until_ns_[kind] = std::max(busy_until_ns_[kind], end_ns);
    level_at(start_ns);
  }

  void finish() {
    pass_to(std::numeric_limits<std::int64_t>::max());
    write_change();
    if (idle_from_ns_) write(*idle_from_ns_, {});
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
  struct Level {
    bool computing = false, communicating = false;
    bool operator==(const Level&) const = default;
  };

  void pass_to(std::int64_t to_ns) {
    for (;;) {
      std::int64_t end_ns = to_ns;
      for (const std::int64_t busy_ns : busy_until_ns_)
        if (busy_ns > now_ns_ && busy_ns < end_ns) end_ns = busy_ns;
      if (end_ns == to_ns) break;
      level_at(end_ns);
    }
    now_ns_ = std::max(now_ns_, to_ns);
  }

  // If the level changes several times at one time, the last change counts.
  void level_at(std::int64_t at_ns) {
    now_ns_ = at_ns;
    if (at_ns_ && *at_ns_ != at_ns) write_change();
    at_ns_ = at_ns;
    level_ = {busy_until_ns_[compute] > at_ns, busy_until_ns_[communication] > at_ns};
  }

  void write_change() {
    constexpr Level idle, computing_alone{true, false};
    if (!at_ns_ || level_ == (idle_from_ns_ ? idle : written_)) return;
    if (idle_from_ns_) {
      const std::int64_t idle_from_ns = *std::exchange(idle_from_ns_, std::nullopt);
      if (level_ == computing_alone && *at_ns_ - idle_from_ns < filled_ns_) return;
      write(idle_from_ns, idle);
    } else if (written_ == computing_alone && level_ == idle) {
      idle_from_ns_ = at_ns_;
      return;
    }
    write(*at_ns_, level_);
  }

  void write(std::int64_t at_ns, Level level) {
    const auto [computing, communicating] = written_ = level;
    writer_.counter(track_, "overlap", at_ns,
                    {{"compute alone", computing && !communicating ? 1 : 0},
                     {"both", computing && communicating ? 1 : 0},
                     {"communication alone", communicating && !computing ? 1 : 0}});
  }

  ChromeWriter& writer_;
  Track track_;
  std::int64_t filled_ns_;
  std::array<std::int64_t, 2> busy_until_ns_{never, never};
  std::int64_t now_ns_ = never;
  std::optional<std::int64_t> at_ns_;  // time of level_ if it is not written yet
  Level level_, written_;
  std::optional<std::int64_t> idle_from_ns_;  // not written yet: the gap may turn out to be short
};

// Takes the kinds of device work as ingestion and imports do. DataParallel communicates by copies between devices, Gloo
// on the host.
void write_device_levels(SQLite::Database& db, Levels& levels, const ShardClock& shard) {
  SQLite::Statement row(
      db,
      "SELECT k.start_ns, k.end_ns, COALESCE((SELECT MAX(s.kind = 'communication') FROM kernel_summary s "
      "WHERE s.shard_id = k.shard_id AND s.name_id = k.name_id), instr(n.value, 'nccl') > 0) "
      "FROM kernel k JOIN string n ON n.id = k.name_id WHERE k.shard_id = ?1 "
      "UNION ALL SELECT start_ns, end_ns, 1 FROM memcpy WHERE shard_id = ?1 AND kind = 'peer' AND ?2 = 'dp' "
      "UNION ALL SELECT start_ns, end_ns, 1 FROM collective WHERE shard_id = ?1 AND start_ns IS NOT NULL AND "
      "end_ns IS NOT NULL AND ?3 = 'gloo' ORDER BY 1, 2");
  row.bind(1, shard.id);
  row.bind(2, shard.strategy);
  row.bind(3, shard.backend);
  while (row.executeStep())
    levels.add(shard.aligned(row.getColumn(0).getInt64()), shard.aligned(row.getColumn(1).getInt64()),
               row.getColumn(2).getInt() != 0 ? communication : compute);
}

// Used if the host's times are those of the work: phases and collectives of the steps that have phases.
void write_host_levels(SQLite::Database& db, Levels& levels, const ShardClock& shard) {
  timeline::Rank rank;
  rank.shard = shard.id;
  rank.alignment = shard.alignment;
  const timeline::RankTime time = timeline::read_rank_time(db, rank);
  for (std::size_t i = 0, j = 0; i < time.compute.size() || j < time.communication.size();) {
    const bool computes = j == time.communication.size() ||
                          (i < time.compute.size() && time.compute[i].start_ns <= time.communication[j].start_ns);
    const ingest::Interval& next = computes ? time.compute[i++] : time.communication[j++];
    levels.add(next.start_ns, next.end_ns, computes ? compute : communication);
  }
}

bool has_kernels(SQLite::Database& db, const ShardClock& shard) {
  SQLite::Statement any(db, "SELECT 1 FROM kernel WHERE shard_id = ? LIMIT 1");
  any.bind(1, shard.id);
  return any.executeStep();
}

}  // namespace

void write_counters(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  const bool device = has_kernels(db, shard);
  Levels levels(writer, {shard.id, step_track}, device ? filled_gap_ns : 0);
  if (device)
    write_device_levels(db, levels, shard);
  else if (shard.device == "cpu")
    write_host_levels(db, levels, shard);
  levels.finish();
}

}  // namespace ddpprof::export_
