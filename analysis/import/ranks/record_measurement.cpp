// record_measurement() of measurement_setup.hpp.
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "analysis/import/ranks/host_conditions.hpp"
#include "analysis/import/ranks/measurement_setup.hpp"
#include "analysis/ingest/ingest.hpp"
#include "runner/launcher/rank_environment.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::ranks {
namespace {

store::MeasurementRow measurement_row(const MeasurementSetup& setup) {
  const auto& workload = setup.scenario.workload;
  store::MeasurementRow row;
  row.scenario_id = setup.scenario_id;
  const bool dp = setup.configuration.strategy == scenario::Strategy::dp;
  row.kind = setup.mode == WorkerMode::train ? "train" : "bench-comm";
  row.strategy = setup.mode == WorkerMode::train ? to_string(setup.configuration.strategy) : "none";
  row.world_size = setup.configuration.workers;
  row.repeat = setup.configuration.repeat;
  row.backend = dp ? (setup.device == "cpu" ? "threads" : "nccl") : setup.backend;
  row.device = setup.device;
  row.model = workload.model.label();
  row.batch_per_worker = workload.batch_per_worker;
  row.accumulation = workload.accumulation;
  row.precision = to_string(workload.precision);
  row.threads_per_rank = setup.configuration.threads_per_rank;
  row.cores = setup.cores;
  row.oversubscription = setup.configuration.oversubscription;
  nlohmann::json options;
  if (setup.scenario.ddp.bucket_cap_mb) options["bucket_cap_mb"] = *setup.scenario.ddp.bucket_cap_mb;
  options["gradient_as_bucket_view"] = setup.scenario.ddp.gradient_as_bucket_view;
  if (setup.scenario.ddp.find_unused_parameters) options["find_unused_parameters"] = true;
  if (setup.scenario.ddp.compression != scenario::Compression::none)
    options["compression"] = to_string(setup.scenario.ddp.compression);
  options["broadcast_buffers"] = setup.scenario.ddp.broadcast_buffers;
  options["optimizer"] = to_string(workload.optimizer.kind);
  options["learning_rate"] = setup.scenario.learning_rate.base;
  if (setup.scenario.learning_rate.apply) {
    options["learning_rate_rule"] = word(setup.scenario.learning_rate.rule);
    options["batches_span_epochs"] =
        true;  // of the schedule; in databases without this option the last batch of an epoch was a full one
  }
  options["seed"] = workload.seed;
  if (setup.scenario.measure.sync != scenario::DeviceSync::every_step)
    options["sync"] = to_string(setup.scenario.measure.sync);
  if (!setup.started_by.empty()) options["started_by"] = setup.started_by;
  if (!setup.job.empty()) options["job"] = setup.job;
  row.options = options.dump();
  return row;
}

// Adds the models of processor and GPU to the versions.
void add_models(const MeasurementSetup& setup, store::MeasurementRow& row) {
  nlohmann::json versions = nlohmann::json::parse(row.versions, nullptr, /*allow_exceptions=*/false);
  if (!versions.is_object()) return;
  if (!setup.machine.processor.empty()) versions["processor"] = setup.machine.processor;
  if (!setup.machine.gpu.empty() && setup.device == "cuda") versions["gpu"] = setup.machine.gpu;
  row.versions = versions.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Maps a rank to its row of table shard. A rank without the tracer gets a row in ensure_shard().
std::map<std::int64_t, std::int64_t> shard_ids(store::Database& database, std::int64_t measurement_id) {
  std::map<std::int64_t, std::int64_t> ids;
  SQLite::Statement query(database.sql(), "SELECT rank, id FROM shard WHERE measurement_id = ? AND rank >= 0");
  query.bind(1, measurement_id);
  while (query.executeStep()) ids[query.getColumn(0).getInt64()] = query.getColumn(1).getInt64();
  return ids;
}

std::int64_t ensure_shard(store::Database& database, std::map<std::int64_t, std::int64_t>& ids,
                          std::int64_t measurement_id, std::int64_t rank, const nlohmann::json& result) {
  if (const auto found = ids.find(rank); found != ids.end()) return found->second;
  store::ShardRow shard;
  shard.measurement_id = measurement_id;
  shard.rank = rank;
  shard.host = result.value("host", "");
  shard.pid = result.value("pid", std::int64_t{0});
  shard.process = "ddpprof-worker";
  shard.closed = 1;
  return ids[rank] = store::Inserter<store::ShardRow>(database).insert(shard);
}

void insert_comm_points(store::Database& database, std::int64_t measurement_id, const RankResults& results) {
  auto ids = shard_ids(database, measurement_id);
  store::Inserter<store::CommPointRow> inserter(database);
  for (const auto& [rank, result] : results.by_rank) {
    const std::int64_t shard = ensure_shard(database, ids, measurement_id, rank, result);
    for (const auto& sample : result.value("samples", nlohmann::json::array())) {
      store::CommPointRow row;
      row.shard_id = shard;
      row.op = "all_reduce";
      row.bytes = sample.at(0);
      row.iteration = sample.at(1);
      row.duration_ns = sample.at(2);
      if (sample.size() > 3) row.processor_ns = sample.at(3).get<std::int64_t>();
      inserter.insert(row);
    }
  }
}

bool traced(const RankResults& results) {
  return std::any_of(results.by_rank.begin(), results.by_rank.end(),
                     [](const auto& entry) { return entry.second.value("traced", false); });
}

// Inserts the steps' durations from the worker's own clock: without the tracer there are no phases. `wanted`: the
// scenario asked for a trace, so its absence is an error.
void insert_untraced_steps(store::Database& database, std::int64_t measurement_id, const RankResults& results,
                           bool wanted) {
  auto ids = shard_ids(database, measurement_id);
  store::Inserter<store::StepRow> inserter(database);
  for (const auto& [rank, result] : results.by_rank) {
    const std::int64_t shard = ensure_shard(database, ids, measurement_id, rank, result);
    std::int64_t step = 0, start_ns = 0;
    for (const char* kind : {"warmup", "measured", "unwrapped"}) {
      for (const auto& duration : result.at("step_ns").at(kind)) {
        store::StepRow row;
        row.shard_id = shard;
        row.step = step++;
        row.kind = kind;
        row.samples = result.value("samples_per_step", std::int64_t{0});
        row.start_ns = start_ns;
        row.duration_ns = duration;
        start_ns += row.duration_ns;
        inserter.insert(row);
      }
    }
  }
  store::DiagnosticRow note;
  note.measurement_id = measurement_id;
  note.severity = wanted ? "error" : "warning";
  note.code = "untraced";
  note.message =
      wanted ? "the tracer did not attach: only step times were measured; phases, communication and overlap are 0"
             : "measured without the tracer: only step times were measured; phases, communication and overlap are 0";
  note.advice =
      wanted ? "see NVTX's message in the ranks' logs; check that libddpprof-tracer.so has the version of this program"
             : "set measure.trace: true to measure phases and communication";
  store::Inserter<store::DiagnosticRow>(database).insert(note);
}

ingest::RawPolicy raw_policy(scenario::RawEvents raw) {
  switch (raw) {
    case scenario::RawEvents::all:
      return ingest::RawPolicy::all;
    case scenario::RawEvents::rank0:
      return ingest::RawPolicy::rank0;
    case scenario::RawEvents::none:
      return ingest::RawPolicy::none;
  }
  return ingest::RawPolicy::rank0;
}

}  // namespace

std::int64_t record_measurement(store::Database& database, const MeasurementSetup& setup, const Recorded& recorded) {
  const RankResults& results = recorded.results;
  store::MeasurementRow row = measurement_row(setup);
  row.started_utc_ns = recorded.started_utc_ns;
  row.wall_ns = recorded.wall_ns;
  describe(results, row);
  add_models(setup, row);
  // "ok" is set in the last transaction only: a program killed before it leaves a measurement that is marked partial.
  row.status = "partial";
  row.message = recorded.failure.value_or("ddpprof was ended while it loaded the measurement");
  const ingest::IngestResult ingested =
      ingest::ingest_measurement(database, row, recorded.shards, raw_policy(setup.scenario.output.raw));

  store::BulkLoad load(database);
  const bool timed = std::any_of(results.by_rank.begin(), results.by_rank.end(), [](const auto& entry) {
    return !entry.second.value("samples", nlohmann::json::array()).empty();
  });
  SQLite::Statement judge(database.sql(), "UPDATE measurement SET status = ?, message = ? WHERE id = ?");
  judge.bind(1, !recorded.failure ? "ok" : ingested.steps == 0 && !timed ? "failed" : "partial");
  judge.bind(2, recorded.failure.value_or(""));
  judge.bind(3, ingested.measurement_id);
  judge.exec();
  for (store::HostConditionRow& condition : host_conditions(results)) {
    condition.measurement_id = ingested.measurement_id;
    store::Inserter<store::HostConditionRow>(database).insert(condition);
  }
  for (store::MemoryRow& memory : memory_rows(results)) {
    memory.measurement_id = ingested.measurement_id;
    store::Inserter<store::MemoryRow>(database).insert(memory);
  }
  std::vector<store::DiagnosticRow> diagnostics = check_parameters(results);
  for (store::DiagnosticRow& unsettled : check_warmup(results)) diagnostics.push_back(std::move(unsettled));
  for (store::DiagnosticRow& warning : rank_warnings(results)) diagnostics.push_back(std::move(warning));
  for (const std::string& problem : results.problems) {
    store::DiagnosticRow unreadable;
    unreadable.severity = "error";
    unreadable.code = "result_unreadable";
    unreadable.message = problem;
    unreadable.advice = "measure this configuration again";
    diagnostics.push_back(unreadable);
  }
  if (setup.mode == WorkerMode::train && setup.device == "cuda" &&
      setup.scenario.measure.sync == scenario::DeviceSync::never) {
    store::DiagnosticRow launches;
    launches.severity = "warning";
    launches.code = "steps_do_not_wait";
    launches.message =
        "measure.sync is never: a step's time is the host's time to launch it. GPU work after a block's last step is "
        "in "
        "no step";
    launches.advice =
        "do not compare these steps with a measurement with every_step. To include all GPU work, measure with "
        "measure.sync: every_step";
    diagnostics.push_back(launches);
  }
  if (const auto plugin = launcher::other_nccl_plugin(setup.tracer);
      plugin && setup.scenario.measure.trace && setup.device == "cuda") {
    store::DiagnosticRow other;
    other.severity = "warning";
    other.code = "nccl_plugin_not_ours";
    other.message =
        "NCCL_PROFILER_PLUGIN is " + *plugin + " and was not replaced: NCCL's algorithms and protocols are unknown";
    other.advice = "unset NCCL_PROFILER_PLUGIN and measure again";
    diagnostics.push_back(other);
  }
  diagnostics.insert(diagnostics.end(), recorded.notes.begin(), recorded.notes.end());
  for (store::DiagnosticRow& diagnostic : diagnostics) {
    diagnostic.measurement_id = ingested.measurement_id;
    store::Inserter<store::DiagnosticRow>(database).insert(diagnostic);
  }
  if (setup.mode == WorkerMode::bench_comm) insert_comm_points(database, ingested.measurement_id, results);
  if (setup.mode == WorkerMode::train && !results.by_rank.empty() && !traced(results)) {
    insert_untraced_steps(database, ingested.measurement_id, results, setup.scenario.measure.trace);
  }
  load.commit();
  return ingested.measurement_id;
}

}  // namespace ddpprof::ranks
