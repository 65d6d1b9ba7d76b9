// Raw events of the shards that kept theirs.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <utility>

#include "analysis/export/chrome_nesting.hpp"
#include "analysis/export/chrome_shards.hpp"
#include "analysis/export/chrome_writer.hpp"

namespace ddpprof::export_ {
namespace {

// Numbers the operating system's threads of `query` (tid, what they are called before it, name or NULL) and names their
// tracks.
std::map<std::int64_t, NestedTracks> name_threads(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard,
                                                  const char* query, std::int64_t first_track, std::int64_t& crossing) {
  std::map<std::int64_t, NestedTracks> tracks;
  SQLite::Statement threads(db, query);
  threads.bind(1, shard.id);
  while (threads.executeStep()) {
    const std::int64_t tid = threads.getColumn(0).getInt64();
    const std::int64_t track = first_track + static_cast<std::int64_t>(tracks.size());
    const std::string name = fmt::format("{} {}{}", threads.getColumn(1).getString(), tid,
                                         threads.getColumn(2).isNull() ? "" : " " + threads.getColumn(2).getString());
    tracks.emplace(tid, NestedTracks({shard.id, track}, name, crossing));
    writer.track({shard.id, track}, name);
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

// What imports call a range's domain, as the categories that readers of profilers' traces know.
std::string category_of(const std::string& domain) {
  if (domain == "operation") return "cpu_op";
  if (domain == "annotation") return "user_annotation";
  return domain == "python" ? "python_function" : domain;
}

std::int64_t write_ranges(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  std::int64_t crossing = thread_track + first_crossing;
  auto tracks = name_threads(db, writer, shard,
                             "SELECT tid, CASE WHEN MIN(depth) < 0 THEN 'host thread' ELSE 'NVTX thread' END, "
                             "(SELECT name FROM thread t WHERE t.shard_id = r.shard_id AND t.tid = r.tid) "
                             "FROM range r WHERE shard_id = ? GROUP BY tid ORDER BY tid",
                             thread_track, crossing);
  std::int64_t unfinished = 0;
  SQLite::Statement row(db,
                        "SELECT r.tid, n.value, COALESCE(d.value, 'nvtx'), r.kind, r.start_ns, r.end_ns, r.payload "
                        "FROM range r JOIN string n ON n.id = r.name_id LEFT JOIN string d ON d.id = r.domain_id "
                        "WHERE r.shard_id = ? ORDER BY r.start_ns, r.depth, r.end_ns DESC, r.rowid");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    NestedTracks& thread = tracks.at(row.getColumn(0).getInt64());
    const Track track = thread.first();
    const std::string name = row.getColumn(1).getString();
    const std::string domain = category_of(row.getColumn(2).getString());
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
      const std::int64_t end = shard.aligned(row.getColumn(5).getInt64());
      writer.complete(thread.track_of(writer, start, end), name, domain, start, end, arguments);
    }
  }
  return unfinished;
}

void write_streams(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  std::map<std::pair<std::int64_t, std::int64_t>, NestedTracks> tracks;
  std::int64_t crossing = stream_track + first_crossing;
  SQLite::Statement streams(db,
                            "SELECT device, stream FROM kernel WHERE shard_id = ?1 UNION "
                            "SELECT device, stream FROM memcpy WHERE shard_id = ?1 ORDER BY device, stream");
  streams.bind(1, shard.id);
  while (streams.executeStep()) {
    const std::pair key{streams.getColumn(0).getInt64(), streams.getColumn(1).getInt64()};
    const std::int64_t track = stream_track + static_cast<std::int64_t>(tracks.size());
    const std::string name = fmt::format("GPU {} stream {}", key.first, key.second);
    tracks.emplace(key, NestedTracks({shard.id, track}, name, crossing));
    writer.track({shard.id, track}, name);
  }
  SQLite::Statement row(db,
                        "SELECT device, stream, start_ns, end_ns, n.value, correlation, NULL AS bytes FROM kernel k "
                        "JOIN string n ON n.id = k.name_id WHERE k.shard_id = ?1 UNION ALL "
                        "SELECT device, stream, start_ns, end_ns, kind, correlation, bytes FROM memcpy "
                        "WHERE shard_id = ?1 ORDER BY device, stream, start_ns, end_ns DESC, correlation");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    const std::pair key{row.getColumn(0).getInt64(), row.getColumn(1).getInt64()};
    nlohmann::ordered_json arguments = {
        {"device", key.first}, {"stream", key.second}, {"correlation", row.getColumn(5).getInt64()}};
    const bool copy = !row.getColumn(6).isNull();
    if (copy) arguments["bytes"] = row.getColumn(6).getInt64();
    const std::int64_t start = shard.aligned(row.getColumn(2).getInt64());
    const std::int64_t end = shard.aligned(row.getColumn(3).getInt64());
    writer.complete(tracks.at(key).track_of(writer, start, end), row.getColumn(4).getString(),
                    copy ? "memcpy" : "kernel", start, end, arguments);
  }
}

void write_api_calls(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  std::int64_t crossing = cuda_api_track + first_crossing;
  auto tracks =
      name_threads(db, writer, shard,
                   "SELECT DISTINCT tid, 'CUDA calls of thread', NULL FROM api_call WHERE shard_id = ? ORDER BY tid",
                   cuda_api_track, crossing);
  SQLite::Statement row(db,
                        "SELECT tid, domain, cbid, start_ns, end_ns, correlation, n.value FROM api_call a "
                        "LEFT JOIN string n ON n.id = a.name_id WHERE shard_id = ? "
                        "ORDER BY start_ns, end_ns DESC, correlation");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    const std::string interface = row.getColumn(1).getString();
    const bool named = !row.getColumn(6).isNull();
    const std::int64_t start = shard.aligned(row.getColumn(3).getInt64());
    const std::int64_t end = shard.aligned(row.getColumn(4).getInt64());
    // Readers of profilers' traces look for a call's own name in its interface's category; a number would mislead them.
    writer.complete(
        tracks.at(row.getColumn(0).getInt64()).track_of(writer, start, end),
        named ? row.getColumn(6).getString() : fmt::format("{} call {}", interface, row.getColumn(2).getInt64()),
        named ? "cuda_" + interface : "cuda_api", start, end, {{"correlation", row.getColumn(5).getInt64()}});
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
