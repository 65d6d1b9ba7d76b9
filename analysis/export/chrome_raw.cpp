// Writes the raw events of the shards that kept them.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "analysis/export/chrome_nesting.hpp"
#include "analysis/export/chrome_shards.hpp"
#include "analysis/export/chrome_writer.hpp"

namespace ddpprof::export_ {
namespace {

// Numbers the operating system's threads of `query` and names their tracks. The query's columns: tid, text before the
// tid in the track's name, thread name or NULL, and the depth that ranges have unless they state another one.
struct Thread {
  NestedTracks tracks;
  std::int64_t depth = 0;
};
std::map<std::int64_t, Thread> name_threads(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard,
                                            const char* query, std::int64_t first_track, std::int64_t& crossing) {
  std::map<std::int64_t, Thread> tracks;
  SQLite::Statement threads(db, query);
  threads.bind(1, shard.id);
  while (threads.executeStep()) {
    const std::int64_t tid = threads.getColumn(0).getInt64();
    const std::int64_t track = first_track + static_cast<std::int64_t>(tracks.size());
    const std::string name = fmt::format("{} {}{}", threads.getColumn(1).getString(), tid,
                                         threads.getColumn(2).isNull() ? "" : " " + threads.getColumn(2).getString());
    const std::int64_t depth = threads.getColumn(3).getInt64();
    Json facts = {{"thread", tid}};
    if (depth != 0) facts["depth"] = depth;
    writer.track({shard.id, track}, name, facts);
    tracks.emplace(tid, Thread{NestedTracks({shard.id, track}, name, crossing, std::move(facts)), depth});
  }
  return tracks;
}

Payload payload_of(const SQLite::Column& value) {
  if (value.isNull()) return {};
  if (value.isInteger()) return value.getInt64();
  if (value.isFloat()) return value.getDouble();
  return value.getString();
}

std::int64_t write_ranges(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  std::int64_t crossing = thread_track + first_crossing;
  auto threads = name_threads(db, writer, shard,
                              "SELECT tid, CASE WHEN MIN(depth) < 0 THEN 'host thread' ELSE 'NVTX thread' END, "
                              "(SELECT name FROM thread t WHERE t.shard_id = r.shard_id AND t.tid = r.tid), MIN(depth) "
                              "FROM range r WHERE shard_id = ? GROUP BY tid ORDER BY tid",
                              thread_track, crossing);
  std::int64_t unfinished = 0;
  SQLite::Statement row(db,
                        "SELECT r.tid, n.value, d.value, r.kind, r.start_ns, r.end_ns, r.payload, r.depth "
                        "FROM range r JOIN string n ON n.id = r.name_id LEFT JOIN string d ON d.id = r.domain_id "
                        "WHERE r.shard_id = ? ORDER BY r.start_ns, r.depth, r.end_ns DESC, r.rowid");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    Thread& thread = threads.at(row.getColumn(0).getInt64());
    const Track track = thread.tracks.first();
    const std::string name = row.getColumn(1).getString();
    std::optional<std::string> domain;
    if (!row.getColumn(2).isNull()) domain = row.getColumn(2).getString();
    const std::string category = category_of(domain);
    const std::int64_t kind = row.getColumn(3).getInt64(), depth = row.getColumn(7).getInt64();
    const bool ended = !row.getColumn(5).isNull();
    const std::int64_t start_local = row.getColumn(4).getInt64();
    const std::int64_t end_local = ended ? row.getColumn(5).getInt64() : 0;
    const std::int64_t start = shard.aligned(start_local);

    const Payload payload = payload_of(row.getColumn(6));
    Json arguments = payload_arguments(payload), own;
    if (implied_payload(arguments) != payload) {
      const auto* text = std::get_if<std::string>(&payload);
      own["payload"] = text ? cell(*text) : Json();
    }
    if (depth != thread.depth) own["depth"] = depth;
    const bool mark = kind == 2;
    if ((!mark && !ended) || !is_text(category) || domain_of(category) != domain)
      own["domain"] = domain ? cell(*domain) : Json();
    shard.keep_start(own, start_local);

    if (mark) {
      if (!ended || end_local != start_local) own["end_ns"] = ended ? Json(end_local) : Json();
      add_own(arguments, std::move(own));
      writer.instant(track, name, category, start, arguments);
    } else if (!ended) {
      own["kind"] = kind;
      add_own(arguments, std::move(own));
      writer.instant(track, name + " never ended", "unfinished", start, arguments);
      ++unfinished;
    } else {
      const std::int64_t end = shard.aligned(end_local);
      shard.keep_end(own, end_local);
      if (kind != 0 && kind != 1) own["kind"] = kind;
      add_own(arguments, std::move(own));
      if (kind == 1)
        writer.async(track, name, category, start, end, arguments);
      else
        writer.complete(thread.tracks.track_of(writer, start, end), name, category, start, end, arguments);
    }
    writer.count(EventTable::range);
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
  // Copies have no launch, and kernels have no size.
  SQLite::Statement row(
      db,
      "SELECT device, stream, start_ns, end_ns, n.value, correlation, NULL AS bytes, grid, block, "
      "registers_per_thread, "
      "shared_bytes, 0 AS copy, k.rowid AS place FROM kernel k JOIN string n ON n.id = k.name_id WHERE k.shard_id = ?1 "
      "UNION ALL SELECT device, stream, start_ns, end_ns, kind, correlation, bytes, NULL, NULL, NULL, NULL, 1, rowid "
      "FROM memcpy WHERE shard_id = ?1 ORDER BY device, stream, start_ns, end_ns DESC, correlation, copy, place");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    const std::pair key{row.getColumn(0).getInt64(), row.getColumn(1).getInt64()};
    Json arguments = {{"device", key.first}, {"stream", key.second}, {"correlation", row.getColumn(5).getInt64()}};
    const bool copy = row.getColumn(11).getInt() != 0;
    if (copy) {
      arguments["bytes"] = row.getColumn(6).getInt64();
    } else {
      int column = 7;
      for (const char* name : {"grid", "block", "registers per thread", "shared memory"})
        arguments[name] = row.getColumn(column++).getInt64();
    }
    const std::int64_t start_local = row.getColumn(2).getInt64(), end_local = row.getColumn(3).getInt64();
    const std::int64_t start = shard.aligned(start_local), end = shard.aligned(end_local);
    Json own;
    shard.keep_start(own, start_local);
    shard.keep_end(own, end_local);
    add_own(arguments, std::move(own));
    writer.complete(tracks.at(key).track_of(writer, start, end), row.getColumn(4).getString(),
                    copy ? "memcpy" : "kernel", start, end, arguments);
    writer.count(copy ? EventTable::memcpy : EventTable::kernel);
  }
}

void write_api_calls(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  std::int64_t crossing = cuda_api_track + first_crossing;
  auto tracks =
      name_threads(db, writer, shard,
                   "SELECT DISTINCT tid, 'CUDA calls of thread', NULL, 0 FROM api_call WHERE shard_id = ? ORDER BY tid",
                   cuda_api_track, crossing);
  SQLite::Statement row(db,
                        "SELECT tid, domain, cbid, start_ns, end_ns, correlation, n.value FROM api_call a "
                        "LEFT JOIN string n ON n.id = a.name_id WHERE shard_id = ? "
                        "ORDER BY start_ns, end_ns DESC, correlation, a.rowid");
  row.bind(1, shard.id);
  while (row.executeStep()) {
    const std::string interface = row.getColumn(1).getString();
    const bool named = !row.getColumn(6).isNull();
    const std::int64_t start_local = row.getColumn(3).getInt64(), end_local = row.getColumn(4).getInt64();
    const std::int64_t start = shard.aligned(start_local), end = shard.aligned(end_local);
    const std::int64_t function = row.getColumn(2).getInt64();
    Json arguments = {{"correlation", row.getColumn(5).getInt64()}, {"cbid", function}}, own;
    // A call without a name has the category cuda_api, so a named call cannot have the interface "api" in its category.
    if (named && (interface == "api" || !is_text(interface))) own["domain"] = cell(interface);
    shard.keep_start(own, start_local);
    shard.keep_end(own, end_local);
    add_own(arguments, std::move(own));
    // Trace readers expect a call's name in its interface's category; a name made from a number would mislead them.
    writer.complete(tracks.at(row.getColumn(0).getInt64()).tracks.track_of(writer, start, end),
                    named ? row.getColumn(6).getString() : fmt::format("{} call {}", interface, function),
                    named ? "cuda_" + interface : "cuda_api", start, end, arguments);
    writer.count(EventTable::api_call);
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
