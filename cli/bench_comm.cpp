// ddpprof bench-comm: times all-reduces over message sizes and worker counts. Prints the columns of nccl-tests.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <ostream>

#include "analysis/report/report.hpp"
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
  std::string_view summary() const override { return "Time all-reduces of 1 KiB to 256 MiB over worker counts"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof bench-comm --workers 2,4", "ddpprof bench-comm --workers 2 --device cpu --out links.db"};
  }

  void declare(CLI::App& app) override {
    app.add_option("--workers", workers_, "Worker counts, e.g. 2,4 (default 2,4)");
    app.add_option("--out", out_, "Database to write (default bench-comm.db here)");
    app.add_option("--device", device_, "cpu or cuda (default: cuda if a GPU is visible)");
    app.add_option("--format", format_, format_help);
    app.add_option("--timeout", timeout_s_,
                   "Seconds without progress after which a rank counts as hanging (default 120)");
    app.add_flag("--overwrite", overwrite_, "Replace the database if it exists");
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    scenario::Scenario scenario;
    scenario.name = "bench-comm";
    // Nothing is trained, but a scenario needs a model and a loss.
    scenario.workload.model = {.kind = scenario::Model::Kind::linear, .widths = {1, 1}};
    scenario.workload.loss = scenario::LossKind::mse;
    scenario.workers.clear();
    for (const long long workers : parse_worker_list(workers_, "--workers")) scenario.workers.push_back(workers);
    if (scenario.workers.front() < 2) {
      throw Failure(ExitCode::usage, "an all-reduce needs two workers", "--workers of 2 or more");
    }
    if (scenario.workers.back() > 1024) throw Failure(ExitCode::usage, "--workers is too large", "at most 1024");
    if (!(timeout_s_ > 0)) throw Failure(ExitCode::usage, "--timeout is not positive", "seconds, e.g. 120");
    scenario.measure.timeout_s = timeout_s_;
    scenario.measure.trace = false;  // the worker measures the times itself
    if (device_ == "cpu")
      scenario.device = scenario::DeviceChoice::cpu;
    else if (device_ == "cuda")
      scenario.device = scenario::DeviceChoice::cuda;
    else if (!device_.empty())
      throw Failure(ExitCode::usage, "unknown device '" + device_ + "'", "cpu or cuda");

    const measure::Plan plan = measure::make_plan(scenario, measure::available_cores(), measure::visible_gpus(),
                                                  measure::available_memory_bytes());
    measure::SweepOptions options;
    options.installation = measure::find_installation();
    options.machine = measure::this_machine();
    options.database = out_;
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
  std::string workers_ = "2,4", out_ = "bench-comm.db", device_, format_ = "table";
  double timeout_s_ = 120;
  bool overwrite_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_bench_comm() { return std::make_unique<BenchComm>(); }

}  // namespace ddpprof::cli
