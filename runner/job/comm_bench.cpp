#include "runner/job/comm_bench.hpp"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "runner/job/last_lines.hpp"
#include "runner/launcher/bounded.hpp"
#include "runner/measure/error.hpp"
#include "runner/measure/interruption.hpp"
#include "tracer/store/files/error.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::job {
namespace {

using nlohmann::json;

std::vector<std::string> command_with_script(const CommBench& bench) {
  std::vector<std::string> command = bench.command;
  const auto place = std::ranges::find(command, "{script}");
  if (place != command.end()) {
    *place = bench.script.string();
    return command;
  }
  for (const std::string& word : command)
    if (word.ends_with(".py"))
      throw measure::InvalidRequest("the command starts " + word + ", and bench-comm starts a script of its own",
                                    "a launcher and its options, for example torchrun --nproc-per-node 2",
                                    "leave out the script and what follows it, or write {script} in its place");
  command.push_back(bench.script.string());
  return command;
}

// `results`: the file of the results. The script writes the reasons of failed ranks beside it.
[[noreturn]] void fail(std::string why, const std::filesystem::path& results, const std::filesystem::path& log) {
  std::ifstream reasons(results.string() + ".error");
  if (std::string first; std::getline(reasons, first)) why += ": " + first.substr(0, 500);
  throw measure::SweepFailed({measure::MeasurementFailure::Cause::run, why},
                             fmt::format("{}\n  log: {}{}", why, log.string(), last_lines(log)));
}

CommTimes read_times(const std::filesystem::path& file) {
  std::ifstream text(file);
  const json all = json::parse(text);
  CommTimes times;
  times.backend = all.at("backend").get<std::string>();
  times.device = all.at("device").get<std::string>();
  times.torch = all.at("torch").get<std::string>();
  times.cuda = all.at("cuda").get<std::string>();
  times.python = all.at("python").get<std::string>();
  times.left_out = all.at("warnings").get<std::vector<std::string>>();
  times.wall_ns = all.at("wall_ns").get<std::int64_t>();
  for (const json& one : all.at("ranks")) {
    CommTimes::Rank rank;
    rank.rank = one.at("rank").get<std::int64_t>();
    rank.pid = one.at("pid").get<std::int64_t>();
    rank.cores = std::max<std::int64_t>(1, one.at("cores").get<std::int64_t>());
    rank.threads = std::max<std::int64_t>(1, one.at("threads").get<std::int64_t>());
    rank.host = one.at("host").get<std::string>();
    rank.boot_id = one.at("boot_id").get<std::string>();
    rank.network = one.at("network").get<std::string>();
    rank.gpu = one.at("gpu").get<std::string>();
    for (const auto& [op, samples] : one.at("samples").items())
      for (const json& sample : samples)
        rank.samples.push_back({op, sample.at(0).get<std::int64_t>(), sample.at(1).get<std::int64_t>(),
                                sample.at(2).get<std::int64_t>(), sample.at(3).get<std::int64_t>()});
    times.ranks.push_back(std::move(rank));
  }
  if (times.ranks.size() < 2 || times.ranks.front().samples.empty())
    throw std::runtime_error("it has no times of two ranks or more");
  return times;
}

std::vector<import::HostIdentity> hosts_of(const CommTimes& times) {
  std::vector<import::HostIdentity> hosts;
  for (const CommTimes::Rank& rank : times.ranks) hosts.push_back({rank.boot_id, rank.host, rank.network});
  return hosts;
}

store::MeasurementRow measurement_of(const CommTimes& times, std::optional<std::int64_t> nodes) {
  const auto ranks = static_cast<std::int64_t>(times.ranks.size());
  const CommTimes::Rank& first = times.ranks.front();
  store::MeasurementRow row;
  row.kind = "bench-comm";
  row.strategy = "none";
  row.world_size = ranks;
  row.backend = times.backend;
  row.device = times.device;
  row.nodes = std::min(ranks, nodes.value_or(import::hosts_among(hosts_of(times))));
  row.cores = first.cores;
  row.threads_per_rank = first.threads;
  const std::int64_t ranks_per_host = (ranks + row.nodes - 1) / row.nodes;
  row.oversubscription = static_cast<double>(ranks_per_host * first.threads) / static_cast<double>(first.cores);
  json versions = {
      {"ddpprof", DDPPROF_VERSION}, {"torch", times.torch}, {"cuda", times.cuda}, {"python", times.python}};
  if (!first.gpu.empty()) versions["gpu"] = first.gpu;
  row.versions = versions.dump(-1, ' ', false, json::error_handler_t::replace);
  row.options = json{{"source", "torch.distributed"}}.dump();
  row.started_utc_ns = times.started_utc_ns;
  row.wall_ns = times.wall_ns;
  return row;
}

}  // namespace

CommTimes time_collectives(const CommBench& bench) {
  const measure::InterruptionGuard guard;
  std::error_code error;
  std::filesystem::create_directories(bench.folder, error);
  if (error)
    throw measure::CannotWrite("cannot make the folder " + bench.folder.string() + ": " + error.message(), "",
                               "check whether the disk is full or the folder is read-only");
  const std::filesystem::path results = std::filesystem::absolute(bench.folder) / "results.json";
  for (const char* earlier : {"", ".error"}) std::filesystem::remove(results.string() + earlier, error);
  launcher::BoundedCommand command;
  command.argv = command_with_script(bench);
  command.environment = {{"DDPPROF_COMM_FILE", results.string()},
                         {"DDPPROF_COMM_BACKEND", bench.backend},
                         {"DDPPROF_COMM_DEVICE", bench.device},
                         {"DDPPROF_COMM_TIMEOUT_S", fmt::format("{}", bench.timeout_s)},
                         {"DDPPROF_COMM_SECONDS", fmt::format("{}", bench.limit.count() / 2)}};
  command.log = bench.folder / "output.log";
  command.limit = bench.limit;
  command.grace = std::chrono::seconds(10);
  command.enough = [] { return false; };
  command.interrupted = [] { return measure::InterruptionGuard::interrupted(); };
  const auto started = std::chrono::system_clock::now().time_since_epoch();
  launcher::BoundedEnd end;
  try {
    end = launcher::run_bounded(command);
  } catch (const std::system_error& cannot) {
    throw measure::MissingProgram("the command cannot be started: " + std::string(cannot.what()),
                                  "a launcher that is installed", "correct " + bench.command.front());
  }
  using Reason = launcher::BoundedEnd::Reason;
  if (end.reason == Reason::interrupted) throw measure::Interrupted("interrupted: nothing was stored");
  if (end.reason == Reason::limit)
    fail(fmt::format("the ranks had not ended after {} s (--limit): they wait for each other, or the links are slow",
                     bench.limit.count()),
         results, command.log);
  if (!std::filesystem::exists(results, error))
    fail(fmt::format("the launcher ended{} without results{}",
                     end.exit_code ? fmt::format(" with exit code {}", *end.exit_code) : " by a signal",
                     end.exit_code == 0 ? ": its ranks did not run the script, or rank 0 ran on a host that does not "
                                          "have this folder"
                                        : ""),
         results, command.log);
  try {
    CommTimes times = read_times(results);
    times.started_utc_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(started).count();
    return times;
  } catch (const std::exception& wrong) {
    fail(fmt::format("{} cannot be read: {}", results.string(), wrong.what()), results, command.log);
  }
}

std::vector<import::Note> warnings_of(const CommTimes& times, std::optional<std::int64_t> nodes) {
  std::vector<import::Note> warnings;
  for (const std::string& text : times.left_out)
    warnings.push_back(
        {ingest::Severity::warning, "sizes_left_out", 1, text,
         "predictions for larger buckets go on from the largest size that was timed; give a larger --limit"});
  if (!nodes)
    if (std::optional<import::Note> note = import::note_on_shared_machine(hosts_of(times)))
      warnings.push_back(std::move(*note));
  return warnings;
}

void store_times(store::Database& database, const CommTimes& times, std::optional<std::int64_t> nodes) {
  try {
    store::BulkLoad load(database);
    const std::int64_t id = store::Inserter<store::MeasurementRow>(database).insert(measurement_of(times, nodes));
    store::Inserter<store::CommPointRow> points(database);
    for (const CommTimes::Rank& rank : times.ranks) {
      store::ShardRow shard;
      shard.measurement_id = id;
      shard.rank = rank.rank;
      shard.host = rank.host;
      shard.boot_id = rank.boot_id;
      shard.pid = rank.pid;
      shard.process = "python";
      shard.closed = 1;
      const std::int64_t shard_id = store::Inserter<store::ShardRow>(database).insert(shard);
      for (const CommTimes::Sample& sample : rank.samples) {
        store::CommPointRow point;
        point.shard_id = shard_id;
        point.op = sample.op;
        point.bytes = sample.bytes;
        point.iteration = sample.iteration;
        point.duration_ns = sample.duration_ns;
        point.processor_ns = sample.processor_ns;
        points.insert(point);
      }
    }
    for (const import::Note& warning : warnings_of(times, nodes)) {
      store::DiagnosticRow row;
      row.measurement_id = id;
      row.severity = "warning";
      row.code = warning.code;
      row.message = warning.message;
      row.advice = warning.advice;
      store::Inserter<store::DiagnosticRow>(database).insert(row);
    }
    load.commit();
  } catch (const SQLite::Exception& failure) {
    throw store::translate(failure, database.path());
  }
}

}  // namespace ddpprof::job
