// Writes the Chrome/Perfetto export: steps, phases, gradients and collectives of every rank, and raw events if they
// were kept.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/export/chrome_shards.hpp"
#include "analysis/export/chrome_writer.hpp"
#include "analysis/export/export.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/queries.hpp"

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

void write_step(ChromeWriter& writer, const ShardClock& shard, const store::StepRow& row) {
  const std::int64_t start = row.start_ns, end = start + row.duration_ns;
  Json arguments = {{"step", row.step},
                    {"samples", row.samples},
                    {"compute_ns", row.compute_ns},
                    {"communication_ns", row.communication_ns},
                    {"overlapped_ns", row.overlapped_ns},
                    {"exposed_ns", row.exposed_ns},
                    {"skew_ns", row.skew_ns},
                    {"data_wait_ns", row.data_wait_ns},
                    {"host_to_device_ns", row.host_to_device_ns},
                    {"buffers_ns", row.buffers_ns},
                    {"forward_ns", row.forward_ns},
                    {"backward_ns", row.backward_ns},
                    {"optimizer_ns", row.optimizer_ns},
                    {"copy_ns", row.copy_ns}};
  const std::array numbers = {row.loss, row.learning_rate, row.local_gradient_sqr, row.gradient_sqr};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i]) arguments[step_numbers[i]] = cell(*numbers[i]);
  if (row.device_idle_ns) arguments["device_idle_ns"] = *row.device_idle_ns;
  arguments["id"] = row.id.value_or(0);
  Json own;
  if (!is_text(row.kind)) own["kind"] = cell(row.kind);
  shard.keep_start(own, start);
  shard.keep_end(own, end);
  add_own(arguments, std::move(own));
  writer.complete({shard.id, step_track}, fmt::format("step {}", row.step), row.kind, shard.aligned(start),
                  shard.aligned(end), arguments);
  writer.count(EventTable::step);
}

std::int64_t track_of(std::int64_t lane) {
  if (lane < 0) return loader_track - lane - 1;
  return lane == 0 ? step_track : replica_track + lane - 1;
}

// Writes steps with their phases and gradient-ready marks, in the order of time.
void write_steps(SQLite::Database& db, ChromeWriter& writer, const ShardClock& shard) {
  store::StepReader rows(db);
  std::map<std::int64_t, store::ParameterRow> parameters;
  for (store::ParameterRow& row : store::read_parameters(db, shard.measurement))
    parameters[row.parameter] = std::move(row);
  for (const store::StepRow& step : rows.steps(shard.id)) {
    const std::int64_t id = step.id.value_or(0), start = step.start_ns;
    write_step(writer, shard, step);
    std::vector<store::PhaseRow> phases = rows.phases(id);
    std::ranges::stable_sort(
        phases, {}, [](const store::PhaseRow& row) { return std::tuple(row.lane, row.start_ns, -row.duration_ns); });
    for (const store::PhaseRow& phase : phases) {
      const std::int64_t from = start + phase.start_ns, to = from + phase.duration_ns;
      Json arguments = {{"step_id", id}}, own;
      if (phase.bytes) arguments["bytes"] = *phase.bytes;
      shard.keep_start(own, from);
      shard.keep_end(own, to);
      add_own(arguments, std::move(own));
      writer.complete({shard.id, track_of(phase.lane)}, phase.name, "phase", shard.aligned(from), shard.aligned(to),
                      arguments);
      writer.count(EventTable::phase);
    }
    for (const store::GradReadyRow& gradient : rows.gradients(id)) {
      const std::int64_t ready = start + gradient.ready_ns;
      Json arguments = {{"parameter", gradient.parameter}, {"step_id", id}}, own;
      std::string name = fmt::format("parameter {}", gradient.parameter);
      if (const auto known = parameters.find(gradient.parameter); known != parameters.end()) {
        name = known->second.name;
        arguments["bytes"] = known->second.bytes;
      }
      shard.keep_start(own, ready);
      add_own(arguments, std::move(own));
      writer.instant({shard.id, gradient_track}, name, "grad_ready", shard.aligned(ready), arguments);
      writer.count(EventTable::grad_ready);
    }
  }
}

// Members of one collective, numbered in the order in which its ranks start, so that arrows follow time. Records of
// different ranks are matched by (communicator, sequence) within a measurement. A member whose clock is unknown has no
// place in this order.
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
  std::vector<std::int64_t> lane_free_at;  // collectives that are in flight at the same time go to different tracks
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
