#include "analysis/import/tables/tables.hpp"

#include <SQLiteCpp/Exception.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/fit/compute_fit.hpp"
#include "tracer/store/files/error.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"
#include "tracer/store/utf8.hpp"

namespace ddpprof::import {
namespace {

constexpr double shortest_step_s = 1e-6;  // stored to a thousandth

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

// A table or log has one shard, because all of its times are on one clock.
std::int64_t only_shard(store::Database& database, std::int64_t measurement, const char* process) {
  store::ShardRow shard;
  shard.measurement_id = measurement;
  shard.process = process;
  shard.closed = 1;
  shard.clock_reference = "same-clock";
  shard.clock_uncertainty_ns = 0;
  return store::Inserter<store::ShardRow>(database).insert(shard);
}

void note(store::Database& database, std::int64_t measurement, const char* severity, const char* code,
          const std::string& message, const std::string& advice) {
  store::DiagnosticRow row;
  row.measurement_id = measurement;
  row.severity = severity;
  row.code = code;
  row.message = message;
  row.advice = advice;
  store::Inserter<store::DiagnosticRow>(database).insert(row);
}

// One placement: rows that are equal except for their time. Whether the wait time is known is part of it, because this
// is stored per measurement.
using Placement = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;

Placement placement_of(const fit::StepRow& row) {
  return {row.strategy,         row.workers,      row.nodes,        row.devices_per_node,
          row.batch_per_worker, row.accumulation, row.sync_s >= 0.0};
}

store::MeasurementRow training_of(const fit::StepRow& row, const std::string& model) {
  store::MeasurementRow training;
  training.kind = "import";
  training.strategy = row.strategy;
  training.world_size = row.workers;
  training.backend = "unknown";
  training.device = "unknown";
  training.model = model;
  training.batch_per_worker = row.batch_per_worker;
  training.accumulation = row.accumulation;
  training.precision = "recorded";
  training.nodes = row.nodes;
  training.threads_per_rank = training.cores = 0;  // unknown
  training.options =
      nlohmann::json{
          {"source", "step-table"}, {"devices_per_node", row.devices_per_node}, {"sync_time", row.sync_s >= 0.0}}
          .dump();
  return training;
}

}  // namespace

std::int64_t import_step_table(store::Database& database, const std::vector<fit::StepRow>& rows,
                               const std::string& model) {
  struct Training {
    std::int64_t shard_id = 0, steps = 0, end_ns = 0;
  };
  for (const fit::StepRow& row : rows)
    if (row.step_s < shortest_step_s)
      throw TableError("a step of " + std::to_string(row.step_s * 1e9) +
                       " ns is too short: a database stores whole nanoseconds, which are not precise enough; give the "
                       "table itself to ddpprof predict");
  try {
    store::BulkLoad load(database);
    std::map<Placement, Training> trainings;
    std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>, std::int64_t> repeats;
    store::Inserter<store::MeasurementRow> measurements(database);
    store::Inserter<store::StepRow> steps(database);
    for (const fit::StepRow& row : rows) {
      const auto [found, added] = trainings.try_emplace(placement_of(row));
      Training& training = found->second;
      if (added) {
        store::MeasurementRow measurement = training_of(row, model);
        measurement.repeat = repeats[{row.strategy, row.workers, row.batch_per_worker, row.accumulation}]++;
        const std::int64_t id = measurements.insert(measurement);
        training.shard_id = only_shard(database, id, "table of step times");
        if (trainings.size() == 1)
          note(database, id, "info", "step_times_only",
               "a table of step times: compute, communication and their overlap are unknown",
               "import a trace of the job (ddpprof import) for a breakdown of the time");
      }
      store::StepRow step;
      step.shard_id = training.shard_id;
      step.step = training.steps++;
      step.samples = row.batch_per_worker * row.accumulation;
      step.start_ns = training.end_ns;
      step.duration_ns = nanoseconds(row.step_s);
      if (row.sync_s >= 0.0) step.exposed_ns = step.communication_ns = nanoseconds(row.sync_s);
      training.end_ns += step.duration_ns;
      steps.insert(step);
    }
    load.commit();
    return static_cast<std::int64_t>(trainings.size());
  } catch (const SQLite::Exception& failure) {
    throw store::translate(failure, database.path());
  }
}

namespace {

void note_warnings(store::Database& database, std::int64_t measurement,
                   const std::vector<fit::NcclTestsWarning>& warnings) {
  for (const fit::NcclTestsWarning& warning : warnings)
    note(database, measurement, "warning", warning.code.c_str(), warning.message, warning.advice);
}

store::MeasurementRow sweep_of(const fit::NcclTestsRun& run, std::int64_t ranks, const std::string& file,
                               const LogPlace& place) {
  store::MeasurementRow sweep;
  sweep.kind = "bench-comm";
  sweep.strategy = "none";
  sweep.world_size = ranks;
  sweep.backend = "nccl";
  sweep.device = "cuda";
  sweep.nodes = run.hosts > 0 ? run.hosts : place.nodes.value_or(1);
  if (sweep.nodes > ranks)
    throw LogError(file + ": " + std::to_string(ranks) + " ranks cannot be on " + std::to_string(sweep.nodes) +
                   " hosts; correct --nodes");
  sweep.cores = (ranks + sweep.nodes - 1) / sweep.nodes;
  sweep.options = nlohmann::json{{"source", "nccl-tests"},
                                 {"type", store::to_valid_utf8(run.type)},
                                 {"operation", store::to_valid_utf8(run.operation)}}
                      .dump();
  return sweep;
}

void insert_times(store::Database& database, std::int64_t shard, const std::string& op,
                  const std::vector<fit::NcclTestsRow>& rows) {
  store::Inserter<store::CommPointRow> points(database);
  std::map<std::int64_t, std::int64_t> seen;  // lines so far, by size
  for (const fit::NcclTestsRow& row : rows) {
    store::CommPointRow point;
    point.shard_id = shard;
    point.op = op;
    point.bytes = row.bytes;
    point.iteration = 2 * seen[row.bytes]++;
    point.duration_ns = nanoseconds(row.out_of_place_s);
    points.insert(point);
    if (!(row.in_place_s > 0.0)) continue;
    ++point.iteration;
    point.duration_ns = nanoseconds(row.in_place_s);
    points.insert(point);
  }
}

// Returns the id of the measurement.
std::int64_t insert_sweep(store::Database& database, const fit::NcclTestsRun& run, const std::string& op,
                          std::int64_t ranks, const std::string& file, const LogPlace& place) {
  const std::int64_t id = store::Inserter<store::MeasurementRow>(database).insert(sweep_of(run, ranks, file, place));
  insert_times(database, only_shard(database, id, "nccl-tests"), op, run.rows);
  if (run.hosts > 0 && place.nodes && *place.nodes != run.hosts)
    note(database, id, "info", "log_hosts",
         "the log names " + std::to_string(run.hosts) + " hosts, which are used, but --nodes is " +
             std::to_string(*place.nodes),
         "give a log of the hosts that the job ran on");
  if (run.hosts == 0 && !place.nodes && ranks > fit::usual_gpus_per_node)
    note(database, id, "warning", "hosts_unknown",
         "the log does not name the hosts of its " + std::to_string(ranks) +
             " ranks: one host is assumed, so its links count as links inside a host",
         "give --nodes");
  note_warnings(database, id, run.warnings);
  return id;
}

}  // namespace

std::int64_t import_nccl_log(store::Database& database, const fit::AllReduceLog& log, const std::filesystem::path& file,
                             const LogPlace& place) {
  try {
    store::BulkLoad load(database);
    std::int64_t sweeps = 0;
    const auto insert = [&](const fit::NcclTestsRun& run, const std::string& op, std::int64_t ranks) {
      const std::int64_t id = insert_sweep(database, run, op, ranks, file.string(), place);
      if (sweeps++ == 0) note_warnings(database, id, log.warnings);
      return id;
    };
    for (const fit::AllReduceRun& one : log.runs) {
      const std::int64_t id = insert(one.run, "all_reduce", one.ranks);
      if (one.derived)
        note(database, id, "info", "log_ranks_derived",
             "the log does not name its ranks: " + std::to_string(one.ranks) +
                 ", because busbw is 2 (N-1)/N times algbw only for this number",
             "give --log-ranks if this is wrong");
    }
    for (const fit::OtherRun& one : log.others) insert(one.run, one.op, one.ranks);
    load.commit();
    return sweeps;
  } catch (const SQLite::Exception& failure) {
    throw store::translate(failure, database.path());
  }
}

}  // namespace ddpprof::import
