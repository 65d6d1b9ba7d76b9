// ddpprof import: makes a database from the folders of ddpprof worker's ranks, or from other programs' traces, tables
// and logs.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "analysis/import/load/import.hpp"
#include "analysis/import/load/inputs.hpp"
#include "analysis/import/load/own_export.hpp"
#include "analysis/import/ranks/rank_folder.hpp"
#include "analysis/import/ranks/rank_runs.hpp"
#include "analysis/report/report.hpp"
#include "cli/jobs/import_traces.hpp"
#include "cli/option_values.hpp"
#include "cli/results.hpp"
#include "cli/subcommand.hpp"
#include "runner/measure/sweep.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

// Throws Failure (usage) if the input is an export of ddpprof, or a folder or pattern that contains one.
void check_no_own_export(const std::string& name) {
  std::vector<fs::path> files = {name};
  if (!import::is_own_export(name)) {
    try {
      files = import::expand_inputs({name});
    } catch (const import::ImportError&) {  // reported when the traces are read
    }
  }
  for (const fs::path& file : files)
    if (import::is_own_export(file))
      throw Failure(ExitCode::usage, "cannot import " + file.string() + ": it is an export of ddpprof",
                    "files of other programs", "open the database that the export was made from");
}

class Import : public Subcommand {
 public:
  std::string_view name() const override { return "import"; }
  std::string_view summary() const override {
    return "Make a database from other programs' traces, tables and logs, or from folders of ddpprof worker";
  }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof import rank*.json.gz --out job.db", "ddpprof import n1/ n2/ n4/ --out job.db"};
  }

  void declare(CLI::App& app) override {
    app.add_option("inputs", folders_,
                   "PyTorch profiler traces (JSON, plain, gzip or zstd; one file per rank, a folder, a pattern),\n"
                   "Nsight Systems' SQLite exports, output of nccl-tests' all_reduce_perf, one CSV table of\n"
                   "step times, or folders that ddpprof worker wrote")
        ->required();
    CLI::Option* out = app.add_option("--out", out_, "Database to write")->type_name("PATH");
    app.add_option("--append", append_, "Database to which the measurements are added, instead of --out")
        ->type_name("PATH")
        ->excludes(out);
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT");
    app.add_flag(full_names, full_, full_help);
    app.add_flag("--overwrite", overwrite_, "Replace the database if it exists");
    app.add_flag("--partial", partial_,
                 "Import runs with missing ranks, marked as partial (folders of ddpprof worker)");
    app.add_option("--batch-per-worker", batch_per_worker_,
                   "Samples per rank and micro-batch, if the traces do not contain this number")
        ->check(from_one);
    app.add_option("--param-bytes", parameter_bytes_, "Bytes of all gradients, if the traces have no message sizes")
        ->check(from_one);
    app.add_option("--workers", workers_, "Number of ranks of the job, if the traces do not contain it")
        ->check(from_one);
    app.add_option("--nodes", nodes_, "Number of hosts (default: the hosts that the traces name, otherwise 1)")
        ->check(from_one);
    app.add_option("--cores", cores_, "Cores of a host, for traces of CPUs (default: the number of ranks)")
        ->check(from_one);
    app.add_option("--log-ranks", log_ranks_, "Number of ranks of an nccl-tests log, if the log does not contain it")
        ->check(from_one);
    app.add_option("--model", model_, "Name of the model (default: from the first trace's name)");
    app.add_flag("--no-raw", no_raw_,
                 "Leave out single events: the database is smaller, and its timeline does not show them");
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    context.full = full_;
    if (out_.empty() && append_.empty())
      throw Failure(ExitCode::usage, "no database is named", "--out for a new one, or --append for one that exists");
    if (!append_.empty() && overwrite_)
      throw Failure(ExitCode::usage, "--append keeps the database, and --overwrite replaces it", "one of them");
    for (const std::string& name : folders_) check_no_own_export(name);
    if (!any_rank_folder()) return import_trace_files(trace_import(format), context);
    if (!append_.empty())
      throw Failure(ExitCode::usage, "folders of ddpprof worker cannot be added to a database", "traces with --append",
                    "import all folders of a job at once, with --out");
    std::vector<std::string> notes;
    const std::vector<ranks::RankRun> runs = ranks::group_runs(read_folders(notes), partial_, notes);
    scenario::Scenario scenario = ranks::common_scenario(runs);
    leave_paths_out(scenario, notes);
    for (const std::string& note : notes) context.messages << "ddpprof import: " << note << '\n';

    measure::SweepOptions options;
    options.database = out_;
    options.overwrite = overwrite_;
    const nlohmann::json& start = runs.front().ranks.front().start;
    options.source = start.value("scenario_source", "");
    options.scenario_path = start.value("scenario_file", "");
    check_apart(options.database);
    measure::SweepTarget target = measure::create_database(options);
    store::Database& database = target.database;
    const std::optional<std::int64_t> scenario_id = measure::record_scenario(database, scenario, options);
    std::map<std::tuple<ranks::WorkerMode, scenario::Strategy, std::int64_t>, std::int64_t> repeats;
    for (const ranks::RankRun& run : runs) {
      ranks::MeasurementSetup setup = ranks::setup_of(run, scenario);
      setup.configuration.repeat = repeats[{setup.mode, setup.configuration.strategy, setup.configuration.workers}]++;
      setup.scenario_id = scenario_id;
      ranks::record_measurement(database, setup, ranks::recorded_of(run));
      keep_texts(run, measure::side_folder(out_) / folder_name(setup));
    }
    database.finish_load();
    if (std::ranges::all_of(runs, &ranks::RankRun::bench_comm)) {  // no training: the report shows the sweep
      render(report::build_report(database, "comm"), format, context.out, style_of(context));
      if (!context.quiet) context.messages << "database: " << options.database.string() << '\n';
      return ExitCode::done;
    }
    return write_results(database, scenario, format, "import", context);
  }

 private:
  // Clears the output paths of the ranks' scenario: the folders may come from another host, so only --out is written.
  static void leave_paths_out(scenario::Scenario& scenario, std::vector<std::string>& notes) {
    const auto leave_out = [&](const char* key, std::string& path, const char* format) {
      if (path.empty()) return;
      notes.push_back(
          fmt::format("{}: {} of the ranks' scenario is not written; use ddpprof export FILE.db --format {} "
                      "--out PATH",
                      key, path, format));
      path.clear();
    };
    leave_out("output.csv", scenario.output.csv, "csv");
    leave_out("output.chrome", scenario.output.chrome, "chrome");
  }

  TraceImport trace_import(report::Format format) const {
    TraceImport request;
    request.inputs = folders_;
    request.database = append_.empty() ? out_ : append_;
    request.overwrite = overwrite_;
    request.append = !append_.empty();
    request.keep_raw = !no_raw_;
    request.batch_per_worker = batch_per_worker_;
    request.parameter_bytes = parameter_bytes_;
    request.nodes = nodes_;
    request.workers = workers_;
    request.cores = cores_;
    request.log_ranks = log_ranks_;
    request.model = model_;
    request.format = format;
    return request;
  }

  bool any_rank_folder() const {
    return std::any_of(folders_.begin(), folders_.end(),
                       [](const std::string& name) { return ranks::is_rank_folder(name); });
  }

  std::vector<ranks::RankRecord> read_folders(std::vector<std::string>& notes) const {
    std::vector<ranks::RankRecord> records;
    std::set<fs::path> seen;
    for (const std::string& folder : folders_) {
      std::error_code error;
      if (!seen.insert(fs::weakly_canonical(folder, error)).second)
        throw Failure(ExitCode::usage, folder + " is given twice", "each folder once");
      int older = 0;
      std::vector<ranks::RankRecord> found = ranks::read_rank_records(folder, older);
      if (older > 0)
        notes.push_back(
            fmt::format("{}: attempt {} is imported; {} earlier attempt{} that torchrun restarted {} left out", folder,
                        found.front().attempt, older, older == 1 ? "" : "s", older == 1 ? "is" : "are"));
      records.insert(records.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    }
    return records;
  }

  // With --overwrite the database's folder is emptied before the inputs are read, so it must not contain them.
  void check_apart(const fs::path& database) const {
    std::error_code error;
    const fs::path target = fs::weakly_canonical(fs::absolute(measure::side_folder(database)), error);
    const auto below = [](const fs::path& inner, const fs::path& outer) {
      return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
    };
    for (const std::string& folder : folders_) {
      const fs::path source = fs::weakly_canonical(fs::absolute(folder), error);
      if (below(source, target) || below(target, source))
        throw Failure(ExitCode::usage,
                      fmt::format("--out: {} and the imported folder {} contain each other", target.string(), folder),
                      "a database beside the folders", "give another file");
    }
  }

  static std::string folder_name(const ranks::MeasurementSetup& setup) {
    if (setup.mode == ranks::WorkerMode::train) return measure::configuration_name(setup.configuration);
    return fmt::format("bench-comm-n{}-r{}", setup.configuration.workers, setup.configuration.repeat);
  }

  // Writes each rank's start, result and scenario to the folder beside the database, as `ddpprof run` does. Uses the
  // texts that were read: in a folder from another host the files may have changed meanwhile.
  static void keep_texts(const ranks::RankRun& run, const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw Failure(ExitCode::failed, "cannot make the folder " + folder.string() + ": " + error.message());
    const auto keep = [&](const fs::path& name, const std::string& text) {
      if (text.empty()) return;
      std::ofstream file(folder / name, std::ios::binary);
      file << text;
      if (!file.flush())
        throw Failure(ExitCode::failed, "cannot write " + (folder / name).string(), "",
                      "check whether the disk is full");
    };
    for (const ranks::RankRecord& rank : run.ranks) {
      const ranks::RankFiles files = ranks::rank_files(rank.folder, rank.attempt, rank.rank);
      keep(files.start.filename(), rank.start_text);
      keep(files.result.filename(), rank.result_text);
      keep(files.scenario.filename(), rank.scenario);
    }
  }

  std::vector<std::string> folders_;
  std::string out_, append_, format_ = "table", model_;
  std::optional<std::int64_t> batch_per_worker_, parameter_bytes_, nodes_, cores_, log_ranks_, workers_;
  bool full_ = false, overwrite_ = false, partial_ = false, no_raw_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_import() { return std::make_unique<Import>(); }

}  // namespace ddpprof::cli
