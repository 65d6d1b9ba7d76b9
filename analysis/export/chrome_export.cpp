// The Chrome/Perfetto export: steps, phases, gradients and collectives of every rank, and raw events where kept.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <utility>

#include "analysis/export/chrome_shards.hpp"
#include "analysis/export/chrome_writer.hpp"
#include "analysis/export/export.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::export_ {
namespace {

std::string process_labels(const ShardClock& shard) {
  std::string labels = fmt::format("{}pid {}", shard.host.empty() ? "" : shard.host + " ", shard.pid);
  if (shard.reference == "unknown") labels += ", clock not aligned with rank 0's";
  if (shard.uncertainty_ns && *shard.uncertainty_ns > 0) {
    labels += fmt::format(", clock ± {} µs", microseconds(*shard.uncertainty_ns));
  }
  return labels;
}

void add_own(Json& arguments, Json own) {
  if (!own.is_null()) arguments[own_key] = std::move(own);
}

constexpr const char* steps_query =
    "SELECT id, step, kind, start_ns, duration_ns, samples, compute_ns, communication_ns, overlapped_ns, exposed_ns, "
    "skew_ns, data_wait_ns, host_to_device_ns, buffers_ns, forward_ns, backward_ns, optimizer_ns, copy_ns, loss, "
    "learning_rate, local_gradient_sqr, gradient_sqr FROM step WHERE shard_id = ? ORDER BY start_ns, id";

void write_step(ChromeWriter& writer, const ShardClock& shard, SQLite::Statement& row) {
  const std::int64_t start = row.getColumn(3).getInt64();
  const std::int64_t end = start + row.getColumn(4).getInt64();
  const std::string kind = row.getColumn(2).getString();
  Json arguments = {{"step", row.getColumn(1).getInt64()}, {"samples", row.getColumn(5).getInt64()}};
  int i = 6;
  for (const char* name : {"compute_ns", "communication_ns", "overlapped_ns", "exposed_ns", "skew_ns", "data_wait_ns",
                           "host_to_device_ns", "buffers_ns", "forward_ns", "backward_ns", "optimizer_ns", "copy_ns"}) {
    arguments[name] = row.getColumn(i++).getInt64();
  }
  for (const char* name : step_numbers) {
    if (!row.getColumn(i).isNull()) arguments[name] = cell(row.getColumn(i).getDouble());
    ++i;
  }
  arguments["id"] = row.getColumn(0).getInt64();
  Json own;
  if (!is_text(kind)) own["kind"] = cell(kind);
  shard.keep_start(own, start);
  shard.keep_end(own, end);
  add_own(arguments, std::move(own));
  writer.complete({shard.id, step_track}, fmt::format("step {}", row.getColumn(1).getInt64()), kind,
                  shard.aligned(start), shard.aligned(end), arguments);
  writer.count(EventTable::step);
}

std::int64_t track_of(std::int64_t lane) {
  if (lane < 0) return loader_track - lane - 1;
  return lane == 0 ? step_track : replica_track + lane - 1;
}

// Steps with their phases and gradient-ready marks, in the order of time.
void write_steps(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  SQLite::Statement steps(db, steps_query);
  SQLite::Statement phases(db,
                           "SELECT name, lane, start_ns, duration_ns, bytes FROM phase WHERE step_id = ? "
                           "ORDER BY lane, start_ns, duration_ns DESC, rowid");
  SQLite::Statement gradients(db,
                              "SELECT g.ready_ns, g.parameter, p.name, p.bytes FROM grad_ready g "
                              "LEFT JOIN parameter p ON p.parameter = g.parameter AND p.measurement_id = ? "
                              "WHERE g.step_id = ? ORDER BY g.ready_ns, g.parameter, g.rowid");
  steps.bind(1, shard.id);
  while (steps.executeStep()) {
    const std::int64_t id = steps.getColumn(0).getInt64();
    const std::int64_t start = steps.getColumn(3).getInt64();
    write_step(writer, shard, steps);
    phases.reset();
    phases.bind(1, id);
    while (phases.executeStep()) {
      const std::int64_t lane = phases.getColumn(1).getInt64();
      const std::int64_t from = start + phases.getColumn(2).getInt64();
      Json arguments = {{"step_id", id}}, own;
      if (!phases.getColumn(4).isNull()) arguments["bytes"] = phases.getColumn(4).getInt64();
      shard.keep_start(own, from);
      shard.keep_end(own, from + phases.getColumn(3).getInt64());
      add_own(arguments, std::move(own));
      writer.complete({shard.id, track_of(lane)}, phases.getColumn(0).getString(), "phase", shard.aligned(from),
                      shard.aligned(from + phases.getColumn(3).getInt64()), arguments);
      writer.count(EventTable::phase);
    }
    gradients.reset();
    gradients.bind(1, shard.measurement);
    gradients.bind(2, id);
    while (gradients.executeStep()) {
      const std::int64_t parameter = gradients.getColumn(1).getInt64();
      const std::int64_t ready = start + gradients.getColumn(0).getInt64();
      Json arguments = {{"parameter", parameter}, {"step_id", id}}, own;
      std::string name = fmt::format("parameter {}", parameter);
      if (!gradients.getColumn(2).isNull()) {
        name = gradients.getColumn(2).getString();
        arguments["bytes"] = gradients.getColumn(3).getInt64();
      }
      shard.keep_start(own, ready);
      add_own(arguments, std::move(own));
      writer.instant({shard.id, gradient_track}, name, "grad_ready", shard.aligned(ready), arguments);
      writer.count(EventTable::grad_ready);
    }
  }
}

// Members of one collective, numbered in the order in which its ranks start: the arrows follow time. Ranks' records
// are matched by (communicator, sequence) within a measurement; one whose clock is unknown has no place in the order.
constexpr const char* collectives_query =
    "SELECT shard_id, op, bucket, bytes, communicator, sequence, launch_ns, start_ns, end_ns, ready_ns, transfer_ns, "
    "skew_ns, "
    "ROW_NUMBER() OVER (PARTITION BY measurement_id, communicator, sequence, end_ns IS NULL, aligned_start_ns IS NULL "
    "ORDER BY aligned_start_ns, rank, shard_id) AS member, "
    "COUNT(aligned_start_ns) OVER (PARTITION BY measurement_id, communicator, sequence, end_ns IS NULL, "
    "aligned_start_ns IS NULL) AS members, "
    "DENSE_RANK() OVER (ORDER BY measurement_id, communicator, sequence) AS flow, step_id, datatype, algorithm, "
    "protocol, channels "
    "FROM aligned_collective ORDER BY shard_id, COALESCE(start_ns, launch_ns), sequence, communicator, bucket, op, "
    "bytes, launch_ns, end_ns, step_id";

Json collective_arguments(SQLite::Statement& row) {
  Json arguments = {{"bytes", row.getColumn(3).getInt64()},
                    {"bucket", row.getColumn(2).getInt64()},
                    {"communicator", fmt::format("{:#018x}", static_cast<std::uint64_t>(row.getColumn(4).getInt64()))},
                    {"sequence", row.getColumn(5).getInt64()}};
  if (!row.getColumn(9).isNull()) {
    arguments["ready_to_launch_ns"] = row.getColumn(6).getInt64() - row.getColumn(9).getInt64();
  }
  if (!row.getColumn(7).isNull()) {
    arguments["launch_to_start_ns"] = row.getColumn(7).getInt64() - row.getColumn(6).getInt64();
  }
  if (!row.getColumn(10).isNull()) arguments["transfer_ns"] = row.getColumn(10).getInt64();
  if (!row.getColumn(11).isNull()) arguments["skew_ns"] = row.getColumn(11).getInt64();
  if (!row.getColumn(15).isNull()) arguments["step_id"] = row.getColumn(15).getInt64();
  if (!row.getColumn(16).isNull()) arguments["datatype"] = cell(row.getColumn(16).getString());
  if (!row.getColumn(17).isNull()) arguments["algorithm"] = cell(row.getColumn(17).getString());
  if (!row.getColumn(18).isNull()) arguments["protocol"] = cell(row.getColumn(18).getString());
  if (!row.getColumn(19).isNull()) arguments["channels"] = row.getColumn(19).getInt64();
  return arguments;
}

std::int64_t write_collectives(SQLite::Database& db, ChromeWriter& writer, const ShardClocks& shards) {
  std::int64_t unfinished = 0;
  std::int64_t current = -1;
  std::vector<std::int64_t> lane_free_at;  // collectives in flight at once go to different tracks
  SQLite::Statement row(db, collectives_query);
  while (row.executeStep()) {
    const ShardClock& shard = shards.at(row.getColumn(0).getInt64());
    if (shard.id != current) {
      current = shard.id;
      lane_free_at.clear();
    }
    const std::int64_t bucket = row.getColumn(2).getInt64();
    const std::string name =
        row.getColumn(1).getString() + (bucket >= 0 ? fmt::format(" bucket {}", bucket) : std::string());
    Json arguments = collective_arguments(row), own;
    writer.instant({shard.id, launch_track}, "launch " + name, "launch", shard.aligned(row.getColumn(6).getInt64()));
    if (row.getColumn(7).isNull() || row.getColumn(8).isNull()) {
      const bool started = !row.getColumn(7).isNull();
      if (!started && !row.getColumn(8).isNull()) own["end_ns"] = row.getColumn(8).getInt64();
      shard.keep_start(own, row.getColumn(started ? 7 : 6).getInt64());
      add_own(arguments, std::move(own));
      writer.instant({shard.id, collective_track}, name + (started ? " never ended" : " never started"), "unfinished",
                     shard.aligned(row.getColumn(started ? 7 : 6).getInt64()), arguments);
      writer.count(EventTable::collective);
      ++unfinished;
      continue;
    }
    const std::int64_t start = row.getColumn(7).getInt64();
    const std::int64_t end = row.getColumn(8).getInt64();
    std::size_t lane = 0;
    while (lane < lane_free_at.size() && lane_free_at[lane] > start) ++lane;
    if (lane == lane_free_at.size()) {
      lane_free_at.push_back(end);
      if (lane > 0) {
        writer.track({shard.id, collective_track + static_cast<std::int64_t>(lane)},
                     fmt::format("collectives {}", lane));
      }
    }
    lane_free_at[lane] = end;
    const Track track{shard.id, collective_track + static_cast<std::int64_t>(lane)};
    shard.keep_start(own, start);
    shard.keep_end(own, end);
    add_own(arguments, std::move(own));
    writer.complete(track, name, "collective", shard.aligned(start), shard.aligned(end), arguments);
    writer.count(EventTable::collective);
    const std::int64_t member = row.getColumn(12).getInt64();
    const std::int64_t members = row.getColumn(13).getInt64();
    if (members > 1) {
      writer.flow(track, name, row.getColumn(14).getInt64(),
                  member == 1         ? 's'
                  : member == members ? 'f'
                                      : 't',
                  shard.aligned(start));
    }
  }
  return unfinished;
}

void name_tracks(SQLite::Database& db, ChromeWriter& writer, const ShardClocks& shards) {
  std::int64_t order = 0;
  for (const std::int64_t id : shards.in_display_order()) {
    const ShardClock& shard = shards.at(id);
    writer.process(id, shard.name, process_labels(shard), order++);
    writer.track({id, step_track}, "steps");
    writer.track({id, gradient_track}, "gradients ready");
    writer.track({id, launch_track}, "collectives launched");
    writer.track({id, collective_track}, "collectives");
  }
  SQLite::Statement lanes(db,
                          "SELECT DISTINCT st.shard_id, p.lane FROM phase p JOIN step st ON st.id = p.step_id "
                          "WHERE p.lane <> 0 ORDER BY st.shard_id, p.lane");
  while (lanes.executeStep()) {
    const std::int64_t lane = lanes.getColumn(1).getInt64();
    writer.track({lanes.getColumn(0).getInt64(), track_of(lane)},
                 lane > 0 ? fmt::format("replica {}", lane - 1) : fmt::format("loader {}", -lane - 1));
  }
}

}  // namespace

ChromeSummary export_chrome(store::Database& database, const std::filesystem::path& file) {
  try {
    SQLite::Database& db = database.sql();
    const ShardClocks shards(db);
    ChromeWriter writer(file, shards.first_event_ns());
    ChromeSummary summary;
    write_tables(db, writer);
    writer.begin_events();
    name_tracks(db, writer, shards);
    for (const std::int64_t id : shards.in_display_order()) {
      write_steps(db, writer, shards.at(id));
      write_counters(db, writer, shards.at(id));
      if (shards.at(id).raw_kept) summary.unfinished += write_raw(db, writer, shards.at(id));
    }
    summary.unfinished += write_collectives(db, writer, shards);
    summary.events = writer.events();
    writer.finish();
    return summary;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::export_
