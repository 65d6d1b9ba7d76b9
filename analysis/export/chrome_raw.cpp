// Raw events of the shards that kept theirs.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <utility>

#include "analysis/export/chrome_shards.hpp"
#include "analysis/export/chrome_writer.hpp"

namespace ddpprof::export_ {
namespace {

// Numbers the operating system's threads of `query` (tid, name or NULL) and names their tracks.
std::map<std::int64_t, std::int64_t> name_threads(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard,
                                                  const char* query, std::int64_t first_track, const char* prefix) {
  std::map<std::int64_t, std::int64_t> tracks;
  SQLite::Statement threads(db, query);
  threads.bind(1, shard.id);
  while (threads.executeStep()) {
    const std::int64_t tid = threads.getColumn(0).getInt64();
    const std::int64_t track = first_track + static_cast<std::int64_t>(tracks.size());
    tracks.emplace(tid, track);
    const std::string name = threads.getColumn(1).isNull() ? "" : " " + threads.getColumn(1).getString();
    writer.track({shard.id, track}, fmt::format("{} {}{}", prefix, tid, name));
  }
  return tracks;
}

nlohmann::ordered_json payload_arguments(SQLite::Statement& row, int column) {
  const auto value = row.getColumn(column);
  if (value.isNull()) return nullptr;
  if (value.isInteger()) return {{"payload", value.getInt64()}};
  if (value.isFloat()) return {{"payload", value.getDouble()}};
  auto parsed = nlohmann::ordered_json::parse(value.getString(), nullptr, false);
  if (parsed.is_discarded()) parsed = value.getString();
  return parsed.is_object() ? parsed : nlohmann::ordered_json{{"payload", parsed}};
}

std::int64_t write_ranges(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  const auto tracks = name_threads(db, writer, shard,
                                   "SELECT tid, (SELECT name FROM thread t WHERE t.shard_id = r.shard_id AND "
                                   "t.tid = r.tid) FROM range r WHERE shard_id = ? GROUP BY tid ORDER BY tid",
                                   thread_track, "NVTX thread");
  std::int64_t unfinished = 0;
  SQLite::Statement row(db,
                        "SELECT r.tid, n.value, COALESCE(d.value, 'nvtx'), r.kind, r.start_ns, r.end_ns, r.payload "
                        "FROM range r JOIN string n ON n.id = r.name_id LEFT JOIN string d ON d.id = r.domain_id "
                        "WHERE r.shard_id = ? ORDER BY r.start_ns, r.depth, r.rowid");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    const Track track{shard.id, tracks.at(row.getColumn(0).getInt64())};
    const std::string name = row.getColumn(1).getString();
    const std::string domain = row.getColumn(2).getString();
    const std::int64_t start = shard.aligned(row.getColumn(4).getInt64());
    const auto arguments = payload_arguments(row, 6);
    if (row.getColumn(3).getInt() == 2) {
      writer.instant(track, name, domain, start, arguments);
    } else if (row.getColumn(5).isNull()) {
      writer.instant(track, name + " never ended", "unfinished", start, arguments);
      ++unfinished;
    } else if (row.getColumn(3).getInt() == 1) {
      writer.async(track, name, domain, start, shard.aligned(row.getColumn(5).getInt64()), arguments);
    } else {
      writer.complete(track, name, domain, start, shard.aligned(row.getColumn(5).getInt64()), arguments);
    }
  }
  return unfinished;
}

void write_streams(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> tracks;
  SQLite::Statement streams(db,
                            "SELECT device, stream FROM kernel WHERE shard_id = ?1 UNION "
                            "SELECT device, stream FROM memcpy WHERE shard_id = ?1 ORDER BY device, stream");
  streams.bind(1, shard.id);
  while (streams.executeStep()) {
    const std::pair key{streams.getColumn(0).getInt64(), streams.getColumn(1).getInt64()};
    const std::int64_t track = stream_track + static_cast<std::int64_t>(tracks.size());
    tracks.emplace(key, track);
    writer.track({shard.id, track}, fmt::format("GPU {} stream {}", key.first, key.second));
  }
  SQLite::Statement row(db,
                        "SELECT device, stream, start_ns, end_ns, n.value, correlation, NULL AS bytes FROM kernel k "
                        "JOIN string n ON n.id = k.name_id WHERE k.shard_id = ?1 UNION ALL "
                        "SELECT device, stream, start_ns, end_ns, kind, correlation, bytes FROM memcpy "
                        "WHERE shard_id = ?1 ORDER BY device, stream, start_ns, end_ns, correlation");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    nlohmann::ordered_json arguments = {{"correlation", row.getColumn(5).getInt64()}};
    const bool copy = !row.getColumn(6).isNull();
    if (copy) arguments["bytes"] = row.getColumn(6).getInt64();
    writer.complete({shard.id, tracks.at({row.getColumn(0).getInt64(), row.getColumn(1).getInt64()})},
                    row.getColumn(4).getString(), copy ? "memcpy" : "kernel",
                    shard.aligned(row.getColumn(2).getInt64()), shard.aligned(row.getColumn(3).getInt64()), arguments);
  }
}

void write_api_calls(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  const auto tracks =
      name_threads(db, writer, shard, "SELECT DISTINCT tid, NULL FROM api_call WHERE shard_id = ? ORDER BY tid",
                   cuda_api_track, "CUDA calls of thread");
  SQLite::Statement row(db,
                        "SELECT tid, domain, cbid, start_ns, end_ns, correlation FROM api_call WHERE shard_id = ? "
                        "ORDER BY start_ns, end_ns DESC, correlation");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    writer.complete({shard.id, tracks.at(row.getColumn(0).getInt64())},
                    fmt::format("{} call {}", row.getColumn(1).getString(), row.getColumn(2).getInt64()), "cuda_api",
                    shard.aligned(row.getColumn(3).getInt64()), shard.aligned(row.getColumn(4).getInt64()),
                    {{"correlation", row.getColumn(5).getInt64()}});
  }
}

}  // namespace

std::int64_t write_raw(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  const std::int64_t unfinished = write_ranges(db, writer, shard);
  write_streams(db, writer, shard);
  write_api_calls(db, writer, shard);
  return unfinished;
}

}  // namespace ddpprof::export_
