// ddpprof run: measures the configurations of a scenario, or of the user's own command, fits, predicts, and prints the
// report.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/failure.hpp"
#include "cli/files/scenario_file.hpp"
#include "cli/jobs/record_python.hpp"
#include "cli/jobs/run_job.hpp"
#include "cli/option_values.hpp"
#include "cli/plan_text.hpp"
#include "cli/results.hpp"
#include "cli/subcommand.hpp"
#include "runner/host/network.hpp"
#include "runner/measure/plan.hpp"
#include "runner/measure/progress.hpp"
#include "runner/measure/resume.hpp"
#include "runner/measure/sweep.hpp"
#include "runner/scenario/input_files.hpp"
#include "runner/scenario_queries/trained.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

void check_inputs(const scenario::Scenario& scenario) {
  try {
    scenario::check_input_files(scenario);
  } catch (const scenario::DataError& error) {
    throw Failure(ExitCode::usage, error.what());
  }
}

// Returns true if there is a database. A run that was killed while it made the database may leave a file that is empty
// after SQLite's recovery; that file is removed.
bool was_begun(const std::filesystem::path& database) {
  std::error_code error;
  if (!std::filesystem::exists(database, error)) return false;
  measure::SideFolder held(measure::side_folder(database));
  held.make();
  try {
    store::Database::open_write(database);
  } catch (const store::DatabaseError&) {  // reported when the database is opened to be continued
  }
  if (!std::filesystem::is_regular_file(database, error) || std::filesystem::file_size(database, error) > 0)
    return true;
  return !std::filesystem::remove(database, error);
}

const std::vector<std::string> job_tracers = {"torch", "own"};

class Run : public Subcommand {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override { return "Measure a scenario or your own command, fit, predict, report"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof run scenarios/mnist-mlp.yaml --out mnist.db",
            "ddpprof run --workers 1,2 -- torchrun --nproc-per-node {workers} train.py"};
  }

  // CLI11 stores the first word after "--" as the scenario; run() then ignores it.
  std::vector<std::string>* verbatim() override { return &command_; }

  void declare(CLI::App& app) override {
    app.add_option("scenario", scenario_file_,
                   "Scenario file (docs/reference/scenario.md); or, after --, your own command:\n"
                   "ddpprof run --workers 1,2 -- torchrun --nproc-per-node {workers} train.py");
    app.add_option("--out", out_, "Database to write (default: output.database, else <name>.db here)")
        ->type_name("PATH");
    app.add_option("--workers", workers_, "Measure these worker counts instead, e.g. 1,2,4; for a command: {workers}")
        ->check(not_empty);
    with_words(app.add_option("--device", device_, "cpu or cuda instead of the scenario's device"), devices)
        ->type_name("DEVICE");
    app.add_option("--set", overrides_, "Override a key: --set measure.steps=20 (repeatable)")->allow_extra_args(false);
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT");
    app.add_flag(full_names, full_, full_help);
    app.add_flag("--overwrite", overwrite_, "Replace the database if it exists");
    app.add_flag("--resume", resume_, "Continue the database of an earlier run that did not reach its end");
    with_words(app.add_option("--progress", progress_,
                              "auto: one line on a terminal; json-lines: lines of JSON on standard error; none"),
               progress_forms)
        ->type_name("FORM")
        ->capture_default_str();
    app.add_flag("--dry-run", dry_run_, "Print the plan and measure nothing");
    declare_of_command(app);
  }

  ExitCode run(Context& context) override {
    context.full = full_;
    if (resume_ && overwrite_) {
      throw Failure(ExitCode::usage, "--resume and --overwrite contradict each other", "one of them",
                    "--resume keeps the measurements, --overwrite removes them");
    }
    if (!command_.empty()) return run_command(of_command(), "", "", context);
    if (scenario_file_.empty())
      throw Failure(ExitCode::usage, "nothing to measure", "a scenario file, or -- and a command");
    for (const CLI::Option* option : command_options_)
      if (option->count() > 0)
        throw Failure(ExitCode::usage, option->get_name() + " is for a command after --", "",
                      "set the scenario's keys with --set");
    if (!workers_.empty()) {
      std::string list;
      for (const long long workers : parse_worker_list(workers_, "--workers")) {
        list += (list.empty() ? "" : ", ") + std::to_string(workers);
      }
      overrides_.push_back("workers=[" + list + "]");
    }
    if (!device_.empty()) {
      check_word("--device", device_, devices);
      overrides_.push_back("device=" + device_);
    }
    const scenario::ReadResult read = read_scenario(context, scenario_file_, overrides_);
    if (read.scenario.has_command()) return run_command(read.scenario, scenario_file_, read.source, context);
    const measure::Plan plan = measure::make_plan(read.scenario, measure::available_cores(), measure::visible_gpus(),
                                                  measure::available_memory_bytes());
    const report::Format format = checked_format(format_);
    measure::SweepOptions options;
    options.progress = checked_progress(progress_, context.messages_is_terminal, context.quiet);
    options.database = out_.empty() ? (read.scenario.output.database.empty() ? read.scenario.name + ".db"
                                                                             : read.scenario.output.database)
                                    : out_;
    options.overwrite = overwrite_;
    options.source = read.source;
    options.scenario_path = scenario_file_;
    // Checked before anything is measured, so that a wrong path does not waste a sweep.
    check_exports(read.scenario.output, options.database);
    check_inputs(read.scenario);
    if (dry_run_) {
      context.out << plan_text(read.scenario, plan);
      return ExitCode::done;
    }
    options.installation = measure::find_installation();
    options.machine = measure::this_machine();
    options.resumable = true;
    measure::SweepTarget target =
        resume_ ? resumed(options, read.scenario, plan, context) : measure::create_database(options);
    store::Database& database = target.database;
    if (!context.quiet) context.messages << plan_heading(read.scenario, plan);
    for (const std::string& warning : scenario_queries::rate_warnings(read.scenario))
      context.messages << "learning rate, " << warning << '\n';
    context.messages << std::flush;
    try {
      measure::sweep(database, read.scenario, plan, options, context.messages);
      return write_results(database, read.scenario, format, "run", context);
    } catch (const store::DatabaseError& error) {
      const bool sound = error.kind() == store::ErrorKind::io || error.kind() == store::ErrorKind::locked;
      throw Failure(exit_code_of(error), error.what(), "",
                    sound ? "the measured configurations are kept: --resume continues with them" : "");
    }
  }

 private:
  // Options that only a command has.
  void declare_of_command(CLI::App& app) {
    const auto add = [&](CLI::Option* option) {
      option->group("For a command after --");
      command_options_.push_back(option);
      return option;
    };
    add(app.add_option("--batches", batches_, "Values of {batch}, e.g. 16,32: each N is measured with each of them"))
        ->check(not_empty);
    add(app.add_option("--nodes", of_command_.nodes, "Number of hosts that the command uses: {nodes} (default 1)"))
        ->check(from_one);
    add(app.add_option("--lr", of_command_.learning_rate, "Learning rate: {lr}"));
    add(app.add_option("--repeats", repeats_, "Runs of each N and batch (default 1)"))
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}));
    add(app.add_option("--steps", of_command_.window, "Steps to measure, e.g. 20-60 (default 10-49)"));
    add(app.add_option("--noise-scale", of_command_.noise_steps, noise_scale_help))
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
    with_words(
        add(app.add_option("--tracer", tracer_,
                           "torch: torch.profiler in each Python process that trains; own: the job writes its traces "
                           "to\nthe folder DDPPROF_TRACE_DIR")),
        job_tracers)
        ->type_name("TRACER")
        ->capture_default_str();
    add(app.add_option("--job-timeout", of_command_.timeout_s, "Seconds after which a run is ended (default 1800)"))
        ->check(from_one);
    add(app.add_option("--grace", of_command_.grace_s, "Seconds from SIGTERM to SIGKILL (default 30)"))
        ->check(from_one);
    add(app.add_option("--model", model_, "Name of the model (default: the database's)"));
    add(app.add_flag("--keep-traces", keep_traces_, "Keep the traces in FILE.db.d"));
    add(app.add_flag("--no-raw", no_raw_, "Leave out single events: the database is smaller"));
  }

  // The options of a command as the scenario that a file would have. Throws Failure if an option is for scenarios.
  scenario::Scenario of_command() const {
    if (workers_.empty())
      throw Failure(ExitCode::usage, "--workers is missing", "the numbers of workers to measure, e.g. --workers 1,2,4");
    if (!overrides_.empty() || !device_.empty())
      throw Failure(ExitCode::usage, std::string(device_.empty() ? "--set" : "--device") + " is for a scenario file",
                    "", "write it into the command");
    check_word("--tracer", tracer_, job_tracers);
    scenario::Scenario scenario;
    scenario.command = of_command_;
    scenario.command.words = command_;
    scenario.command.tracer = tracer_ == "own" ? scenario::JobTracer::own : scenario::JobTracer::torch;
    const auto numbers = [](const std::string& list, const char* option) {
      const auto parsed = parse_worker_list(list, option);
      return std::vector<std::int64_t>(parsed.begin(), parsed.end());
    };
    scenario.workers = numbers(workers_, "--workers");
    if (!batches_.empty()) scenario.measure.batches = numbers(batches_, "--batches");
    scenario.measure.repeats = repeats_;
    scenario.output.database = out_.empty() ? name_of_command(command_) + ".db" : out_;
    scenario.output.raw = no_raw_ ? scenario::RawEvents::none : scenario::RawEvents::all;
    scenario.output.keep_traces = keep_traces_;
    scenario.name = model_.empty() ? std::filesystem::path(scenario.output.database).stem().string() : model_;
    return scenario;
  }

  // `path` and `source` are of the scenario file; empty for a command of the command line.
  ExitCode run_command(scenario::Scenario scenario, const std::string& path, const std::string& source,
                       Context& context) const {
    RunJob run;
    run.scenario = std::move(scenario);
    if (!out_.empty()) run.scenario.output.database = out_;
    run.path = path;
    run.source = source;
    run.overwrite = overwrite_;
    run.resume = resume_;
    run.dry_run = dry_run_;
    run.format = checked_format(format_);
    return run_job(run, context);
  }

  static measure::SweepTarget resumed(measure::SweepOptions& options, const scenario::Scenario& scenario,
                                      const measure::Plan& plan, const Context& context) {
    const std::string name = options.database.string();
    if (!was_begun(options.database)) {
      if (!context.quiet)
        context.messages << "There is no " << name << " to resume: all configurations are measured.\n";
      return measure::create_database(options);
    }
    measure::Resumption resumption = measure::resume_database(options, scenario, plan);
    options.scenario_id = resumption.scenario_id;
    options.measured = std::move(resumption.measured);
    if (!context.quiet) {
      context.messages << "Resuming " << name << ": " << options.measured.size() << " of " << plan.configurations.size()
                       << " configurations are measured and kept.\n";
      for (const std::string& host : resumption.other_hosts)
        context.messages << "Measured on " << host << " so far, from now on on " << host::host_name() << ".\n";
      for (const std::string& removed : resumption.removed) context.messages << "Measured again: " << removed << '\n';
    }
    return std::move(resumption.target);
  }

  std::string scenario_file_, out_, workers_, device_, format_ = "table", progress_ = "auto";
  std::vector<std::string> overrides_;
  bool full_ = false, overwrite_ = false, resume_ = false, dry_run_ = false, no_raw_ = false;
  std::vector<std::string> command_;
  std::string batches_, tracer_ = "torch", model_;
  std::int64_t repeats_ = 1;
  bool keep_traces_ = false;
  scenario::Command of_command_;
  std::vector<const CLI::Option*> command_options_;
};

}  // namespace

std::unique_ptr<Subcommand> make_run() { return std::make_unique<Run>(); }

}  // namespace ddpprof::cli
