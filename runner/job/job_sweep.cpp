#include "runner/job/job_sweep.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>
#include <utility>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/load/import.hpp"
#include "runner/job/last_lines.hpp"
#include "runner/launcher/bounded.hpp"
#include "runner/measure/error.hpp"
#include "runner/measure/interruption.hpp"
#include "tracer/store/remove.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/queries.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::job {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* request_key = "job";         // of the table meta
constexpr const char* failed_code = "run_failed";  // of diagnostics

// The parts of a request that every run shares. Other N, batches and repeats may be added later.
std::string shared_part(const JobRequest& request) {
  return json{{"command", request.command},
              {"nodes", request.nodes},
              {"learning_rate", request.learning_rate},
              {"steps", request.steps}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string end_text(const launcher::BoundedEnd& end) {
  if (end.signal) return fmt::format("it was ended by signal {}", *end.signal);
  return fmt::format("it ended with exit code {}", end.exit_code.value_or(-1));
}

// One run of the command.
class Run {
 public:
  Run(store::Database& database, const JobRequest& request, const JobRun& run, const TraceSource& source,
      const JobSweepOptions& options)
      : database_(database),
        request_(request),
        run_(run),
        source_(source),
        options_(options),
        folder_(options.folder / run.name()),
        traces_(folder_ / "traces") {}

  std::int64_t traced_batch() const { return traced_batch_; }  // after measure(); 0: unknown

  // Returns why the run was not measured; empty if it was. Sets `shown` to the result in words.
  std::string measure(std::string& shown, bool& interrupted) {
    prepare();
    launcher::BoundedEnd end;
    try {
      end = launcher::run_bounded(command());
    } catch (const std::system_error& error) {
      return "the command cannot be started: " + std::string(error.what());
    }
    if (end.reason == launcher::BoundedEnd::Reason::interrupted) {
      interrupted = true;
      return "interrupted";
    }
    std::vector<std::string> notes;
    const std::vector<fs::path> files = source_.collect(traces_, notes);
    if (const std::string why = job_failure(end, files.size()); !why.empty())
      return fmt::format("{}{}{}\n  log: {}{}", why, notes.empty() ? "" : "; ", fmt::join(notes, "; "), log().string(),
                         last_lines(log()));
    std::string why = store_traces(files, shown);
    if (!why.empty()) return why;
    warnings_ = notes;
    const bool by_itself = end.reason == launcher::BoundedEnd::Reason::by_itself;
    if (by_itself && end.exit_code != 0) warnings_.push_back(end_text(end));
    if (end.killed)
      warnings_.emplace_back(by_itself ? "the job left processes in the background, which were killed"
                                       : "processes of the job did not end on SIGTERM and were killed");
    if (!options_.keep_traces) {
      std::error_code ignored;
      fs::remove_all(traces_, ignored);
    }
    return "";
  }

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  fs::path log() const { return folder_ / "output.log"; }

  void prepare() const {
    std::error_code error;
    fs::remove_all(folder_, error);
    if (!error) fs::create_directories(traces_, error);
    if (error)
      throw measure::CannotWrite("cannot make the folder " + traces_.string() + ": " + error.message(), "",
                                 "check whether the disk is full or the folder is read-only");
  }

  launcher::BoundedCommand command() const {
    launcher::BoundedCommand command;
    command.argv = command_of(request_, run_);
    command.environment = source_.environment(fs::absolute(traces_));
    command.environment.merge(variables_of(request_, run_));
    command.log = log();
    command.limit = options_.limit;
    command.grace = options_.grace;
    command.enough = [this] { return source_.complete(traces_, run_.workers); };
    command.interrupted = [] { return measure::InterruptionGuard::interrupted(); };
    return command;
  }

  // A job that failed after its traces were complete is measured: it may fail because it was ended.
  std::string job_failure(const launcher::BoundedEnd& end, std::size_t traces) const {
    if (end.reason == launcher::BoundedEnd::Reason::limit)
      return fmt::format("its traces were not complete after {} s ({})", options_.limit.count(),
                         setting_names(request_.of_file).timeout);
    if (static_cast<std::int64_t>(traces) >= run_.workers) return "";
    return fmt::format("{}, with {} of {} traces", end_text(end), traces, run_.workers);
  }

  std::string store_traces(const std::vector<fs::path>& files, std::string& shown) {
    import::ImportOptions options;
    options.files = files;
    options.keep_raw = options_.keep_raw;
    options.model = options_.model;
    options.cores = options_.cores;
    // Not given: the traces of ddpprof's module have their host.
    if (request_.nodes > 1) options.nodes = std::min(request_.nodes, run_.workers);
    options.labels = {{"run", run_.name()}};
    import::ImportResult result;
    try {
      result = import::import_traces(database_, options);
    } catch (const import::ImportError& error) {
      return std::string("its traces cannot be used: ") + error.what();
    } catch (const import::OpenError& error) {
      return std::string("its traces cannot be used: ") + error.what();
    }
    const std::string why = why_not_this_run(result);
    if (why.empty()) {
      shown = fmt::format("{} steps of {} rank{}", result.steps, result.ranks, result.ranks == 1 ? "" : "s");
      traced_batch_ = result.jobs.front().batch_per_worker;
      if (traced_batch_ > 0) shown += fmt::format(", batch {} per worker", traced_batch_);
      return "";
    }
    for (const import::ImportedJob& job : result.jobs) store::remove_measurement(database_, job.measurement_id);
    return why;
  }

  std::string why_not_this_run(const import::ImportResult& result) const {
    if (result.jobs.size() != 1) return fmt::format("its traces are of {} jobs", result.jobs.size());
    const import::ImportedJob& job = result.jobs.front();
    if (job.world_size != run_.workers)
      return fmt::format(
          "its traces are of {} ranks, not of {}: the command must use {{workers}} or the variable DDPPROF_WORKERS",
          job.world_size, run_.workers);
    if (job.ranks < run_.workers)
      return fmt::format("only {} of {} ranks have a usable trace", job.ranks, run_.workers);
    if (job.steps == 0) return "its traces contain no step";
    if (request_.batches.size() > 1 && job.batch_per_worker == 0)
      return "its traces do not contain the batch, so that the batches cannot be told apart: record shapes "
             "(torch.profiler, record_shapes=True)";
    return "";
  }

  store::Database& database_;
  const JobRequest& request_;
  const JobRun& run_;
  const TraceSource& source_;
  const JobSweepOptions& options_;
  fs::path folder_, traces_;
  std::int64_t traced_batch_ = 0;
  std::vector<std::string> warnings_;
};

std::string failure_text(const JobRun& run) { return run.name() + " was not measured: "; }

// Stores why a run was not measured, without the lines of its output.
void store_failure(store::Database& database, const JobRun& run, const std::string& why) {
  store::DiagnosticRow row;
  row.severity = "error";
  row.code = failed_code;
  row.message = failure_text(run) + why.substr(0, why.find('\n'));
  row.advice = "the same command with --resume measures it; FILE.db.d/" + run.name() + "/output.log has its output";
  store::Inserter<store::DiagnosticRow>(database).insert(row);
}

void remove_failure(store::Database& database, const JobRun& run) {
  try {
    SQLite::Statement remove(database.sql(), "DELETE FROM diagnostic WHERE code = ? AND message LIKE ? || '%'");
    remove.bind(1, failed_code);
    remove.bind(2, failure_text(run));
    remove.exec();
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace

std::set<std::string> measured_runs(store::Database& database, const JobRequest& request) {
  const std::string name = database.path().string();
  const auto recorded = store::read_meta(database.sql(), request_key);
  if (!recorded)
    throw measure::InvalidRequest(name + " cannot be continued: 'ddpprof run -- COMMAND' did not make it", "",
                                  "give another file with --out, or start again with --overwrite");
  const SettingNames& names = setting_names(request.of_file);
  if (*recorded != shared_part(request))
    throw measure::InvalidRequest(
        fmt::format("{} cannot be continued: its job is {}, not {}", name, *recorded, shared_part(request)),
        fmt::format("the same command, {}, {} and {}", names.nodes, names.learning_rate, names.steps),
        "use the same again, give another file with --out, or start again with --overwrite");
  std::map<std::string, std::int64_t> workers;
  for (const JobRun& run : make_job_plan(request)) workers[run.name()] = run.workers;
  std::set<std::string> measured;
  std::vector<std::int64_t> wrong;
  SQLite::Statement query(database.sql(),
                          "SELECT id, world_size, options, status FROM measurement WHERE kind = 'import'");
  while (query.executeStep()) {
    const json options = json::parse(query.getColumn(2).getString(), nullptr, false);
    const std::string run = options.is_object() ? options.value("run", "") : "";
    if (const auto planned = workers.find(run);
        planned != workers.end() &&
        (planned->second != query.getColumn(1).getInt64() || query.getColumn(3).getString() == "partial" ||
         measured.contains(run)))
      wrong.push_back(query.getColumn(0).getInt64());
    else if (!run.empty())
      measured.insert(run);
  }
  for (const std::int64_t id : wrong) store::remove_measurement(database, id);
  return measured;
}

std::string measured_model(store::Database& database) {
  try {
    SQLite::Statement query(database.sql(), "SELECT model FROM measurement WHERE kind = 'import' ORDER BY id LIMIT 1");
    return query.executeStep() ? query.getColumn(0).getString() : "";
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

void require_programs(const JobRequest& request, const std::vector<JobRun>& plan) {
  for (const JobRun& run : plan)
    if (const std::string why = launcher::why_not_startable(command_of(request, run).front()); !why.empty())
      throw measure::MissingProgram("the command cannot be started: " + why, "a program that is installed",
                                    "correct the command, or install the program");
}

void record_request(store::Database& database, const JobRequest& request) {
  try {
    store::Inserter<store::MetaRow>(database).insert({request_key, shared_part(request)});
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

JobSweepResult sweep_jobs(store::Database& database, const JobRequest& request, const std::vector<JobRun>& plan,
                          const TraceSource& source, const std::set<std::string>& measured,
                          const JobSweepOptions& options, std::ostream& messages) {
  const measure::InterruptionGuard guard;
  JobSweepResult result;
  std::size_t number = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> asked_batches;  // by N and traced batch
  for (const JobRun& run : plan) {
    ++number;
    if (measured.contains(run.name())) {
      ++result.measured;
      continue;
    }
    if (result.interrupted || measure::InterruptionGuard::interrupted()) {
      result.interrupted = true;
      break;
    }
    if (!options.quiet)
      messages << fmt::format("ddpprof run: {} ({} of {}): {}\n", run.name(), number, plan.size(),
                              text_of(command_of(request, run)))
               << std::flush;
    std::string shown;
    Run measurement(database, request, run, source, options);
    remove_failure(database, run);
    const std::string why = measurement.measure(shown, result.interrupted);
    if (!why.empty()) store_failure(database, run, why);
    if (result.interrupted) break;
    std::vector<std::string> warnings = measurement.warnings();
    if (const std::int64_t batch = measurement.traced_batch(); batch > 0 && run.batch) {
      const auto [other, fresh] = asked_batches.try_emplace({run.workers, batch}, *run.batch);
      if (other->second != *run.batch)
        warnings.push_back(fmt::format(
            "{} {} gave the same batch: the command must use {{batch}} or the variable DDPPROF_BATCH",
            setting_names(request.of_file).batches, other->second));
    }
    if (why.empty()) {
      ++result.measured;
      if (!options.quiet) messages << fmt::format("ddpprof run: {}: {}\n", run.name(), shown) << std::flush;
      for (const std::string& warning : warnings)
        messages << fmt::format("ddpprof run: {}: warning: {}\n", run.name(), warning) << std::flush;
    } else {
      result.failed.push_back({run.name(), why});
      messages << fmt::format("ddpprof run: {} was not measured: {}\n", run.name(), why) << std::flush;
    }
  }
  return result;
}

std::string warn_of_threads(store::Database& database) {
  try {
    std::map<std::int64_t, std::int64_t> threads;  // by N
    bool equal_share = true, differ = false;
    SQLite::Statement query(database.sql(),
                            "SELECT world_size, nodes, threads_per_rank, cores FROM measurement WHERE kind = 'import' "
                            "AND device = 'cpu' ORDER BY world_size, id");
    while (query.executeStep()) {
      const std::int64_t workers = query.getColumn(0).getInt64(), nodes = query.getColumn(1).getInt64();
      const std::int64_t ranks_per_host = (workers + nodes - 1) / std::max<std::int64_t>(1, nodes);
      const std::int64_t used = threads.try_emplace(workers, query.getColumn(2).getInt64()).first->second;
      differ = differ || used != threads.begin()->second;
      equal_share = equal_share && used == std::max<std::int64_t>(1, query.getColumn(3).getInt64() / ranks_per_host);
    }
    constexpr const char* code = "threads_differ";
    SQLite::Statement earlier(database.sql(), "DELETE FROM diagnostic WHERE code = ?");
    earlier.bind(1, code);
    earlier.exec();
    if (!differ || equal_share) return "";
    std::vector<std::string> found;
    for (const auto& [workers, number] : threads) found.push_back(fmt::format("{} at N = {}", number, workers));
    store::DiagnosticRow row;
    row.measurement_id = database.sql().execAndGet("SELECT MIN(id) FROM measurement WHERE kind = 'import'").getInt64();
    row.severity = "warning";
    row.code = code;
    row.message = fmt::format("threads per rank differ: {}. Compute differs with them, and not only with N",
                              fmt::join(found, ", "));
    row.advice =
        "set OMP_NUM_THREADS for all N and measure again: torchrun sets it to 1 if it starts several ranks, and leaves "
        "it unset for one";
    store::Inserter<store::DiagnosticRow>(database).insert(row);
    return row.message + "; " + row.advice;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::job
