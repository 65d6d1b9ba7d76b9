#include "cli/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "analysis/ingest/ingest.hpp"
#include "cli/host_conditions.hpp"
#include "cli/rank_results.hpp"
#include "cli/subcommand.hpp"
#include "runner/host/out_of_memory.hpp"
#include "runner/launcher/launcher.hpp"
#include "runner/launcher/rendezvous.hpp"
#include "runner/scenario/read.hpp"
#include "tracer/store/inserter.hpp"
#include "tracer/store/rows.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

std::int64_t utc_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw Failure(ExitCode::failed, "cannot write " + path.string(), "", "is the disk full?");
}

// What this measurement's workers are told: the scenario with its threads decided.
scenario::Scenario resolved_scenario(const MeasurementJob& job) {
  scenario::Scenario scenario = job.scenario;
  scenario.measure.threads_per_rank = job.configuration.threads_per_rank;
  scenario.device = job.device == "cuda" ? scenario::DeviceChoice::cuda : scenario::DeviceChoice::cpu;
  scenario.backend = job.backend == "nccl" ? scenario::BackendChoice::nccl : scenario::BackendChoice::gloo;
  return scenario;
}

std::vector<launcher::RankCommand> rank_commands(const MeasurementJob& job, const fs::path& scenario_file,
                                                 const fs::path& trace_folder,
                                                 const launcher::ListeningSocket& listener) {
  const auto processes = static_cast<int>(job.configuration.processes());
  std::vector<launcher::RankCommand> commands;
  for (int rank = 0; rank < processes; ++rank) {
    launcher::RankCommand command;
    command.argv = {job.installation.worker.string(),
                    "--scenario",
                    scenario_file.string(),
                    "--strategy",
                    to_string(job.configuration.strategy),
                    "--mode",
                    job.mode == WorkerMode::train ? "train" : "bench-comm",
                    "--result",
                    (job.folder / fmt::format("result-{}.json", rank)).string()};
    if (job.configuration.strategy == scenario::Strategy::dp) {
      command.argv.insert(command.argv.end(), {"--replicas", std::to_string(job.configuration.workers)});
    }
    launcher::RankPlace place;
    place.rank = rank;
    place.world_size = processes;
    place.master_port = listener.port();
    place.threads = static_cast<int>(job.configuration.threads_per_rank);
    if (job.scenario.measure.trace) {
      place.tracer_library = job.installation.tracer;
      place.trace_directory = trace_folder;
    }
    command.environment = launcher::rank_environment(place);
    commands.push_back(std::move(command));
  }
  return commands;
}

store::MeasurementRow measurement_row(const MeasurementJob& job) {
  const auto& workload = job.scenario.workload;
  store::MeasurementRow row;
  row.scenario_id = job.scenario_id;
  const bool dp = job.configuration.strategy == scenario::Strategy::dp;
  row.kind = job.mode == WorkerMode::train ? "train" : "bench-comm";
  row.strategy = job.mode == WorkerMode::train ? to_string(job.configuration.strategy) : "none";
  row.world_size = job.configuration.workers;
  row.repeat = job.configuration.repeat;
  row.backend = dp ? (job.device == "cpu" ? "threads" : "nccl") : job.backend;
  row.device = job.device;
  row.model = workload.model.label();
  row.batch_per_worker = workload.batch_per_worker;
  row.accumulation = workload.accumulation;
  row.precision = to_string(workload.precision);
  row.threads_per_rank = job.configuration.threads_per_rank;
  row.cores = job.cores;
  row.oversubscription = job.configuration.oversubscription;
  nlohmann::json options;
  if (job.scenario.ddp.bucket_cap_mb) options["bucket_cap_mb"] = *job.scenario.ddp.bucket_cap_mb;
  options["gradient_as_bucket_view"] = job.scenario.ddp.gradient_as_bucket_view;
  if (job.scenario.ddp.find_unused_parameters) options["find_unused_parameters"] = true;
  if (job.scenario.ddp.compression != scenario::Compression::none)
    options["compression"] = to_string(job.scenario.ddp.compression);
  options["broadcast_buffers"] = job.scenario.ddp.broadcast_buffers;
  options["optimizer"] = to_string(workload.optimizer.kind);
  options["learning_rate"] = job.scenario.learning_rate.base;
  options["seed"] = workload.seed;
  if (!job.started_by.empty()) options["started_by"] = job.started_by;
  if (!job.job.empty()) options["job"] = job.job;
  row.options = options.dump();
  return row;
}

// rank -> shard row of this measurement; a rank that left no shard (no tracer) gets a row for its results.
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

// Without the tracer there are no phases: the steps' durations, as the worker's own clock read them, are all there is.
// `wanted`: the scenario asked for a trace, so its absence is an error.
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
  note.message = wanted ? "the tracer did not attach: step times only; phases, communication and overlap read zero"
                        : "measured without the tracer: step times only; phases, communication and overlap read zero";
  note.advice = wanted ? "see the ranks' logs for NVTX's message; is libddpprof-tracer.so the one of this program?"
                       : "set measure.trace: true to see where the time goes";
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

std::vector<fs::path> shard_files(const fs::path& folder) {
  std::vector<fs::path> shards;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".ddps") shards.push_back(entry.path());
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

// The run is where its slowest rank is.
void show(ProgressLine& line, const launcher::Progress& progress) {
  const launcher::Status* slowest = nullptr;
  for (const launcher::Progress::Rank& rank : progress.ranks) {
    if (slowest == nullptr || rank.status.step < slowest->step) slowest = &rank.status;
  }
  if (slowest != nullptr) line.update(to_string(slowest->activity), slowest->step, slowest->steps_planned);
}

std::string failure_text(const launcher::LaunchResult& launched) {
  std::string text = launched.message;
  if (!text.empty() && !launched.last_lines.empty()) {
    text += fmt::format("\nThe last lines of rank {}:", launched.rank);
    for (const std::string& line : launched.last_lines) text += "\n    " + line;
    text += '\n';
  }
  return text;
}

}  // namespace

std::string configuration_name(const Configuration& configuration) {
  return fmt::format("{}-n{}-r{}", to_string(configuration.strategy), configuration.workers, configuration.repeat);
}

MeasurementOutcome measure(store::Database& database, const MeasurementJob& job, ProgressLine& progress,
                           const std::function<bool()>& interrupted) {
  const fs::path trace_folder = job.folder / "trace";
  std::error_code error;
  fs::create_directories(trace_folder, error);
  if (error)
    throw Failure(ExitCode::failed, "cannot make the folder " + trace_folder.string() + ": " + error.message());
  const fs::path scenario_file = job.folder / "scenario.yaml";
  write_text(scenario_file, scenario::to_yaml(resolved_scenario(job)));

  launcher::ListeningSocket listener = launcher::open_loopback_listener();
  launcher::LaunchOptions options;
  options.ranks = rank_commands(job, scenario_file, trace_folder, listener);
  options.listener = &listener;
  options.run_directory = job.folder;
  options.timeout_s = job.scenario.measure.timeout_s;
  options.interrupted = interrupted;
  const host::Host here;
  options.who_kills = [&here, before = host::read_out_of_memory_kills(here)] {
    return host::describe_kills(before, host::read_out_of_memory_kills(here));
  };
  options.on_progress = [&](const launcher::Progress& now) { show(progress, now); };
  Recorded recorded;
  recorded.started_utc_ns = utc_ns();
  progress.begin(job.configuration);
  const launcher::LaunchResult launched = launcher::launch(options);
  progress.end();
  recorded.wall_ns = launched.wall_ns;

  MeasurementOutcome outcome;
  outcome.ok = launched.outcome == launcher::LaunchResult::Outcome::ok;
  outcome.interrupted = launched.outcome == launcher::LaunchResult::Outcome::interrupted;
  outcome.machine_lacks = launched.exit_code == static_cast<int>(ExitCode::machine);
  outcome.scenario_wrong = launched.exit_code == static_cast<int>(ExitCode::usage);
  outcome.message = failure_text(launched);

  recorded.ok = outcome.ok;
  recorded.message = outcome.message;
  recorded.results = read_rank_results(job.folder, job.configuration.processes());
  recorded.shards = shard_files(trace_folder);
  if (!outcome.ok) {
    store::DiagnosticRow failed;
    failed.severity = "error";
    failed.code = outcome.interrupted ? "interrupted" : "rank_failed";
    failed.message = outcome.message;
    failed.advice = "the ranks' whole output is in " + job.folder.filename().string();
    recorded.notes.push_back(failed);
  }
  outcome.measurement_id = record(database, job, recorded);
  return outcome;
}

std::int64_t record(store::Database& database, const MeasurementJob& job, const Recorded& recorded) {
  const RankResults& results = recorded.results;
  store::MeasurementRow row = measurement_row(job);
  row.started_utc_ns = recorded.started_utc_ns;
  row.wall_ns = recorded.wall_ns;
  describe(results, row);
  // "ok" only in the last transaction: who is killed between the two leaves nothing that looks whole.
  row.status = "partial";
  row.message = recorded.ok ? "this program was ended while it loaded what was measured" : recorded.message;
  const ingest::IngestResult ingested =
      ingest::ingest_measurement(database, row, recorded.shards, raw_policy(job.scenario.output.raw));

  store::BulkLoad load(database);
  const bool timed = std::any_of(results.by_rank.begin(), results.by_rank.end(), [](const auto& entry) {
    return !entry.second.value("samples", nlohmann::json::array()).empty();
  });
  SQLite::Statement judge(database.sql(), "UPDATE measurement SET status = ?, message = ? WHERE id = ?");
  judge.bind(1, recorded.ok ? "ok" : ingested.steps == 0 && !timed ? "failed" : "partial");
  judge.bind(2, recorded.message);
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
  if (const auto plugin = launcher::other_nccl_plugin(job.installation.tracer);
      plugin && job.scenario.measure.trace && job.device == "cuda") {
    store::DiagnosticRow other;
    other.severity = "warning";
    other.code = "nccl_plugin_not_ours";
    other.message = "NCCL_PROFILER_PLUGIN is " + *plugin + " and stayed: NCCL's algorithms and protocols are unknown";
    other.advice = "unset NCCL_PROFILER_PLUGIN and measure again";
    diagnostics.push_back(other);
  }
  diagnostics.insert(diagnostics.end(), recorded.notes.begin(), recorded.notes.end());
  for (store::DiagnosticRow& diagnostic : diagnostics) {
    diagnostic.measurement_id = ingested.measurement_id;
    store::Inserter<store::DiagnosticRow>(database).insert(diagnostic);
  }
  if (job.mode == WorkerMode::bench_comm) insert_comm_points(database, ingested.measurement_id, results);
  if (job.mode == WorkerMode::train && !results.by_rank.empty() && !traced(results)) {
    insert_untraced_steps(database, ingested.measurement_id, results, job.scenario.measure.trace);
  }
  load.commit();
  return ingested.measurement_id;
}

}  // namespace ddpprof::cli
