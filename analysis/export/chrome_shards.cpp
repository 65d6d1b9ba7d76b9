#include "analysis/export/chrome_shards.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <utility>

namespace ddpprof::export_ {

ShardClocks::ShardClocks(SQLite::Database& db) {
  SQLite::Statement q(
      db,
      "SELECT sh.id, sh.measurement_id, sh.rank, sh.pid, sh.host, sh.clock_reference, "
      "sh.clock_uncertainty_ns, sh.raw_kept, sh.clock_offset_ns, sh.clock_drift_ppb, sh.clock_at_ns, "
      "m.kind, m.strategy, m.world_size, m.repeat, m.backend, m.device FROM shard sh JOIN measurement m ON "
      "m.id = sh.measurement_id "
      "ORDER BY m.kind, m.strategy, m.world_size, m.repeat, m.id, sh.rank, sh.id");
  while (q.executeStep()) {
    ShardClock shard;
    shard.id = q.getColumn(0).getInt64();
    shard.measurement = q.getColumn(1).getInt64();
    shard.rank = q.getColumn(2).getInt64();
    shard.pid = q.getColumn(3).getInt64();
    shard.host = q.getColumn(4).getString();
    shard.reference = q.getColumn(5).getString();
    if (!q.getColumn(6).isNull()) shard.uncertainty_ns = q.getColumn(6).getInt64();
    shard.raw_kept = q.getColumn(7).getInt() != 0;
    shard.alignment.offset_ns = q.getColumn(8).getInt64();
    shard.alignment.drift_ppb = q.getColumn(9).getDouble();
    shard.alignment.at_ns = q.getColumn(10).getInt64();
    shard.strategy = q.getColumn(12).getString();
    shard.backend = q.getColumn(15).getString();
    shard.device = q.getColumn(16).getString();
    const std::string kind = q.getColumn(11).getString();
    const std::int64_t repeat = q.getColumn(14).getInt64();
    shard.name =
        fmt::format("{} N={}{} rank {}", kind == "bench-comm" ? kind : shard.strategy, q.getColumn(13).getInt64(),
                    repeat > 0 ? fmt::format(" repeat {}", repeat) : "", shard.rank);
    order_.push_back(shard.id);
    shards_.emplace(shard.id, std::move(shard));
  }
  bool any = false;
  const std::pair<const char*, bool> minima[] = {
      {"SELECT shard_id, MIN(start_ns) FROM step GROUP BY shard_id", false},
      {"SELECT shard_id, MIN(launch_ns) FROM collective GROUP BY shard_id", false},
      {"SELECT shard_id, MIN(start_ns) FROM collective WHERE start_ns IS NOT NULL GROUP BY shard_id", false},
      {"SELECT shard_id, MIN(start_ns) FROM range GROUP BY shard_id", true},
      {"SELECT shard_id, MIN(start_ns) FROM kernel GROUP BY shard_id", true},
      {"SELECT shard_id, MIN(start_ns) FROM memcpy GROUP BY shard_id", true},
      {"SELECT shard_id, MIN(start_ns) FROM api_call GROUP BY shard_id", true}};
  for (const auto& [minimum, raw] : minima) {
    SQLite::Statement m(db, minimum);
    while (m.executeStep()) {
      ShardClock& shard = shards_.at(m.getColumn(0).getInt64());
      shard.raw_kept = shard.raw_kept || raw;
      const std::int64_t at = shard.aligned(m.getColumn(1).getInt64());
      if (!any || at < first_event_ns_) first_event_ns_ = at;
      any = true;
    }
  }
}

}  // namespace ddpprof::export_
