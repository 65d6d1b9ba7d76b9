#include "runner/measure/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <system_error>
#include <vector>

#include "runner/host/out_of_memory.hpp"
#include "runner/launcher/launcher.hpp"
#include "runner/launcher/listening_socket.hpp"
#include "runner/launcher/rank_environment.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

std::int64_t utc_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw CannotWrite("cannot write " + path.string(), "", "check whether the disk is full");
}

// The scenario that the workers read, with threads, device and backend set.
scenario::Scenario resolved_scenario(const MeasurementJob& job) {
  scenario::Scenario scenario = job.setup.scenario;
  scenario.measure.threads_per_rank = job.setup.configuration.threads_per_rank;
  scenario.device = job.setup.device == "cuda" ? scenario::DeviceChoice::cuda : scenario::DeviceChoice::cpu;
  scenario.backend = job.setup.backend == "nccl" ? scenario::BackendChoice::nccl : scenario::BackendChoice::gloo;
  return scenario;
}

std::vector<launcher::RankCommand> rank_commands(const MeasurementJob& job, const fs::path& scenario_file,
                                                 const fs::path& trace_folder,
                                                 const launcher::ListeningSocket& listener) {
  const auto processes = static_cast<int>(job.setup.configuration.processes());
  std::vector<launcher::RankCommand> commands;
  for (int rank = 0; rank < processes; ++rank) {
    launcher::RankCommand command;
    command.argv = {job.worker.string(),
                    "--scenario",
                    scenario_file.string(),
                    "--strategy",
                    to_string(job.setup.configuration.strategy),
                    "--mode",
                    job.setup.mode == WorkerMode::train ? "train" : "bench-comm",
                    "--result",
                    (job.folder / fmt::format("result-{}.json", rank)).string()};
    if (job.setup.configuration.strategy == scenario::Strategy::dp) {
      command.argv.insert(command.argv.end(), {"--replicas", std::to_string(job.setup.configuration.workers)});
    }
    launcher::RankPlace place;
    place.rank = rank;
    place.world_size = processes;
    place.master_port = listener.port();
    place.threads = static_cast<int>(job.setup.configuration.threads_per_rank);
    if (job.setup.scenario.measure.trace) {
      place.tracer_library = job.setup.tracer;
      place.trace_directory = trace_folder;
    }
    command.environment = launcher::rank_environment(place);
    commands.push_back(std::move(command));
  }
  return commands;
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

// Shows the state of the slowest rank.
void show(ProgressLine& line, const launcher::Progress& progress) {
  const launcher::Status* slowest = nullptr;
  for (const launcher::Progress::Rank& rank : progress.ranks) {
    if (slowest == nullptr || rank.status.step < slowest->step) slowest = &rank.status;
  }
  if (slowest != nullptr) line.update(to_string(slowest->activity), slowest->step, slowest->steps_planned);
}

// Exit codes of ddpprof-worker (runner/worker/leave.hpp).
constexpr int scenario_wrong = 2, machine_lacks = 3;

MeasurementFailure::Cause cause_of(const launcher::LaunchResult& launched) {
  if (launched.exit_code == machine_lacks) return MeasurementFailure::Cause::machine;
  if (launched.exit_code == scenario_wrong) return MeasurementFailure::Cause::scenario;
  return MeasurementFailure::Cause::run;
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
  const std::string batch =
      configuration.batch_per_worker > 0 ? fmt::format("-b{}", configuration.batch_per_worker) : "";
  return fmt::format("{}-n{}{}-r{}", to_string(configuration.strategy), configuration.workers, batch,
                     configuration.repeat);
}

MeasurementOutcome measure_configuration(store::Database& database, const MeasurementJob& job, ProgressLine& progress,
                                         const std::function<bool()>& interrupted) {
  const fs::path trace_folder = job.folder / "trace";
  std::error_code error;
  fs::create_directories(trace_folder, error);
  if (error) throw CannotWrite("cannot make the folder " + trace_folder.string() + ": " + error.message());
  const fs::path scenario_file = job.folder / "scenario.yaml";
  write_text(scenario_file, scenario::to_yaml(resolved_scenario(job)));

  launcher::ListeningSocket listener = launcher::open_loopback_listener();
  launcher::LaunchOptions options;
  options.ranks = rank_commands(job, scenario_file, trace_folder, listener);
  options.listener = &listener;
  options.run_directory = job.folder;
  options.timeout_s = job.setup.scenario.measure.timeout_s;
  options.interrupted = interrupted;
  const host::Host here;
  options.who_kills = [&here, before = host::read_out_of_memory_kills(here)] {
    return host::describe_kills(before, host::read_out_of_memory_kills(here));
  };
  options.on_progress = [&](const launcher::Progress& now) { show(progress, now); };
  ranks::Recorded recorded;
  recorded.started_utc_ns = utc_ns();
  progress.begin(job.setup.configuration);
  const launcher::LaunchResult launched = launcher::launch(options);
  progress.end();
  recorded.wall_ns = launched.wall_ns;

  MeasurementOutcome outcome;
  if (launched.outcome != launcher::LaunchResult::Outcome::ok) {
    outcome.failure = {cause_of(launched), failure_text(launched)};
    recorded.failure = outcome.failure->message;
  }
  recorded.results =
      ranks::read_rank_results(job.folder, job.setup.configuration.processes(), job.setup.mode == WorkerMode::train);
  recorded.shards = shard_files(trace_folder);
  if (outcome.failure) {
    store::DiagnosticRow failed;
    failed.severity = "error";
    failed.code = launched.outcome == launcher::LaunchResult::Outcome::interrupted ? "interrupted" : "rank_failed";
    failed.message = outcome.failure->message;
    failed.advice = "the complete output of the ranks is in " + job.folder.filename().string();
    recorded.notes.push_back(failed);
  }
  outcome.measurement_id = ranks::record_measurement(database, job.setup, recorded);
  return outcome;
}

}  // namespace ddpprof::measure
