// ddpprof lr: the learning rate and its warm-up for each worker count.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "analysis/report/model_tables.hpp"
#include "cli/database_file.hpp"
#include "cli/output_format.hpp"
#include "runner/questions/options.hpp"
#include "runner/questions/stored_scenario.hpp"

namespace ddpprof::cli {
namespace {

class LearningRateSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "lr"; }
  std::string_view summary() const override { return "Learning rate and warm-up for each worker count"; }

  void declare(CLI::App& app) override {
    app.add_option("FILE.db", file_, "Trace database, as written by ddpprof run")->required();
    app.add_option("--workers", workers_, "Worker counts, e.g. 8,64")->type_name("N,…")->required();
    app.add_option("--base", base_, "Learning rate tuned at the base workers (default: the scenario's)")
        ->type_name("LR");
    app.add_option("--format", format_, format_help)->type_name("FORMAT")->capture_default_str();
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    const std::vector<long long> workers = parse_worker_list(workers_, "--workers");
    if (base_ && !(*base_ > 0.0)) {
      throw Failure(ExitCode::usage, "--base: a learning rate is above 0", "e.g. 0.1");
    }
    store::Database database = open_database(file_);
    try {
      const auto scenario = questions::stored_scenario(database);
      if (!scenario) {
        throw Failure(ExitCode::data, file_ + " holds no scenario, and so no batch, samples or base learning rate", "",
                      "measure one with ddpprof run SCENARIO.yaml");
      }
      fit::LearningRateOptions options = questions::learning_rate_options(*scenario, database);
      options.workers.assign(workers.begin(), workers.end());
      if (base_) options.base_lr = *base_;
      const std::vector<store::LearningRateRow> rows = fit::learning_rates(options);
      const report::Report report{
          "lr", "Learning rate", {report::learning_rate_table(rows), report::warmup_table(rows)}};
      render(report, format, context.out, context.width);
    } catch (const store::DatabaseError& error) {
      throw failure_of(error);
    } catch (const fit::NotSupported& error) {
      throw Failure(ExitCode::data, error.reason(), "", error.advice());
    } catch (const std::invalid_argument& error) {
      throw Failure(ExitCode::usage, error.what());
    }
    return ExitCode::done;
  }

 private:
  std::string file_, workers_, format_ = "table";
  std::optional<double> base_;
};

}  // namespace

std::unique_ptr<Subcommand> make_lr() { return std::make_unique<LearningRateSubcommand>(); }

}  // namespace ddpprof::cli
