// ddpprof bench-comm: times all-reduces over message sizes and worker counts, or collectives with the user's own
// launcher. Prints the columns of nccl-tests.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <ostream>

#include "analysis/report/report.hpp"
#include "cli/jobs/bench_launcher.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/measure/plan.hpp"
#include "runner/measure/sweep.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

class BenchComm : public Subcommand {
 public:
  std::string_view name() const override { return "bench-comm"; }
  std::string_view summary() const override { return "Time all-reduces of 1 KiB to 256 MiB at several worker counts"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof bench-comm --workers 2,4",
            "ddpprof bench-comm --append job.db -- torchrun --standalone --nproc-per-node 2"};
  }

  std::vector<std::string>* verbatim() override { return &command_; }

  void declare(CLI::App& app) override {
    app.add_option("--workers", workers_, "Worker counts, e.g. 2,4 (default 2,4); after --: values of {workers}")
        ->check(not_empty);
    app.add_option("--out", out_, "Database to write (default bench-comm.db here)")->type_name("PATH");
    with_words(app.add_option("--device", device_, "cpu or cuda (default: cuda if a GPU is visible)"), devices)
        ->type_name("DEVICE");
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT");
    app.add_option("--timeout", timeout_s_,
                   "Seconds without progress after which a rank counts as hanging (default 120)");
    app.add_flag("--overwrite", overwrite_, "Replace the database if it exists");
    const auto add = [&](CLI::Option* option) {
      option->group("For a launcher after --, which starts the ranks in the Python of your training");
      launcher_options_.push_back(option);
      return option;
    };
    add(app.add_option("launcher", unused_, "Launcher and its options without a script, after --"));
    add(app.add_option("--append", append_, "Add the times to this database of ddpprof run, record or import"))
        ->type_name("PATH");
    with_words(add(app.add_option("--backend", launcher_.backend, "gloo or nccl (default: nccl if torch sees a GPU)")),
               backends)
        ->type_name("BACKEND");
    add(app.add_option("--nodes", launcher_.nodes, "Number of hosts (default: as the ranks report)"))->check(from_one);
    add(app.add_option("--limit", launcher_.limit_s, "Seconds after which a run is ended (default 300)"))
        ->check(CLI::Range(std::int64_t{10}, std::int64_t{86400}));
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    if (!(timeout_s_ > 0)) throw Failure(ExitCode::usage, "--timeout is not positive", "seconds, e.g. 120");
    if (!device_.empty()) check_word("--device", device_, devices);
    if (!command_.empty()) return bench_launcher(of_launcher(format), context);
    for (const CLI::Option* option : launcher_options_)
      if (option->count() > 0)
        throw Failure(ExitCode::usage, option->get_name() + " is for a launcher after --", "",
                      "give -- and a launcher, for example -- torchrun --nproc-per-node 2");
    scenario::Scenario scenario;
    scenario.name = "bench-comm";
    // Nothing is trained, but a scenario needs a model and a loss.
    scenario.workload.model = {.kind = scenario::Model::Kind::linear, .widths = {1, 1}};
    scenario.workload.loss = scenario::LossKind::mse;
    scenario.workers.clear();
    for (const long long workers : parse_worker_list(workers_.empty() ? "2,4" : workers_, "--workers"))
      scenario.workers.push_back(workers);
    if (scenario.workers.front() < 2) {
      throw Failure(ExitCode::usage, "an all-reduce needs two workers", "--workers of 2 or more");
    }
    if (scenario.workers.back() > 1024) throw Failure(ExitCode::usage, "--workers is too large", "at most 1024");
    scenario.measure.timeout_s = timeout_s_;
    scenario.measure.trace = false;  // the worker measures the times itself
    if (device_ == "cpu") scenario.device = scenario::DeviceChoice::cpu;
    if (device_ == "cuda") scenario.device = scenario::DeviceChoice::cuda;

    const measure::Plan plan = measure::make_plan(scenario, measure::available_cores(), measure::visible_gpus(),
                                                  measure::available_memory_bytes());
    measure::SweepOptions options;
    options.installation = measure::find_installation();
    options.machine = measure::this_machine();
    options.database = out_.empty() ? default_database : out_;
    options.overwrite = overwrite_;
    options.mode = ranks::WorkerMode::bench_comm;
    options.progress = checked_progress("auto", context.messages_is_terminal, context.quiet);
    measure::SweepTarget target = measure::create_database(options);
    store::Database& database = target.database;
    measure::sweep(database, scenario, plan, options, context.messages);
    render(report::build_report(database, "comm"), format, context.out, style_of(context));
    if (!context.quiet) context.messages << "database: " << options.database.string() << '\n';
    return ExitCode::done;
  }

 private:
  static constexpr const char* default_database = "bench-comm.db";
  static inline const std::vector<std::string> backends = {"gloo", "nccl"};

  BenchLauncher of_launcher(report::Format format) const {
    if (!append_.empty() && (overwrite_ || !out_.empty()))
      throw Failure(ExitCode::usage, "--append excludes --out and --overwrite", "one of them",
                    "--append adds to a database that exists");
    BenchLauncher bench = launcher_;
    bench.command = command_;
    if (!workers_.empty()) {
      const auto workers = parse_worker_list(workers_, "--workers");
      bench.workers.assign(workers.begin(), workers.end());
    }
    bench.append = !append_.empty();
    bench.database = bench.append ? append_ : out_.empty() ? default_database : out_;
    bench.overwrite = overwrite_;
    if (!bench.backend.empty()) check_word("--backend", bench.backend, backends);
    bench.device = device_;
    bench.timeout_s = timeout_s_;
    bench.format = format;
    return bench;
  }

  std::string workers_, out_, append_, device_, format_ = "table", unused_;
  double timeout_s_ = 120;
  bool overwrite_ = false;
  std::vector<std::string> command_;
  BenchLauncher launcher_;
  std::vector<const CLI::Option*> launcher_options_;
};

}  // namespace

std::unique_ptr<Subcommand> make_bench_comm() { return std::make_unique<BenchComm>(); }

}  // namespace ddpprof::cli
