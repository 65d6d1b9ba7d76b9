// ddpprof predict: predicts N workers from the measurements of a trace database.
#include "analysis/predict/predict.hpp"

#include <SQLiteCpp/Exception.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "analysis/fit/nccl_tests/all_reduce_log.hpp"
#include "analysis/fit/nccl_tests/stored_collectives.hpp"
#include "analysis/fit/sharded/sharded_job.hpp"
#include "analysis/fit/table/step_csv.hpp"
#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/predict/sharded/shard_logs.hpp"
#include "analysis/predict/tables/collective_prediction.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "analysis/report/tables/collectives/collectives.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "analysis/report/tables/sharding/sharding.hpp"
#include "cli/files/database_file.hpp"
#include "cli/option_values.hpp"
#include "cli/predict_table.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario_queries/stored_scenario.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::cli {
namespace {

const std::vector<std::string> sharings = {"machine", "dedicated"};
const std::vector<long long> powers_of_two = {1, 2, 4, 8, 16, 32, 64};

// Throws Failure if the file does not exist.
void require_log(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw Failure(ExitCode::usage, path + ": no such file", "the output of nccl-tests");
}

class PredictSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "predict"; }
  std::string_view summary() const override { return "Predict N workers from measurements"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof predict job.db", "ddpprof predict job.db --workers 64 --what-if accumulation=4"};
  }

  void declare(CLI::App& app) override {
    app.add_option("FILE", file_,
                   "Trace database, as written by ddpprof run or import, also of nccl-tests' logs alone, or a CSV "
                   "table of step times with the columns\n"
                   "workers,nodes,batch_per_worker,step_time_s[,devices_per_node][,accumulation]\n"
                   "[,sync_time_s][,strategy]")
        ->required();
    app.add_option(
           "--workers", workers_,
           "Worker counts to predict, e.g. 8,64 (default: those of the file's predictions, otherwise the powers\n"
           "of two to 64, for a table of step times to 4 × its largest N; usual changes are then ranked, too)")
        ->type_name("N,…")
        ->check(not_empty);
    app.add_option("--gpus-per-node", gpus_per_node_,
                   "Ranks per host; 0: CPU ranks on one host, GPUs as many as measured, at least 8\n"
                   "(default: the scenario's; for a table of step times those of its fullest node)")
        ->type_name("N");
    app.add_option("--inter-node", inter_node_,
                   "Links of one node to others, used if none was measured: an Ethernet rate (25Gbit/s, 100Gbit/s),\n"
                   "InfiniBand (edr, hdr, ndr, xdr), several (8xndr), or usual: 25 Gbit/s Ethernet to 8 × 400 Gbit/s\n"
                   "InfiniBand (default: the scenario's)")
        ->type_name("LINK");
    app.add_option("--batch-per-worker", batch_,
                   "For a table of step times: the batch to predict (default: the most frequent one)")
        ->type_name("N");
    app.add_option("--global-batch", global_batch_,
                   "Samples of a step of all workers for the table of strong scaling, which needs several measured\n"
                   "batches (default: those of the largest measured N)")
        ->type_name("N");
    app.add_option("--accumulation", accumulation_,
                   "For a table of step times: micro-batches per step to predict (default: those of the largest N)")
        ->type_name("N");
    app.add_option("--confidence", confidence_,
                   "Confidence of the intervals, between 0 and 1 (default: the scenario's)")
        ->type_name("P");
    with_words(app.add_option("--sharing", sharing_,
                              "machine: more ranks share this machine's cores, as measured\n"
                              "dedicated: every rank has as many cores as one rank at N = 1 (default: the scenario's)"),
               sharings)
        ->type_name("WHAT");
    app.add_option("--what-if", what_if_,
                   "Predict also with a change (repeatable): bucket_cap_mb=50, compression=fp16,\n"
                   "precision=bf16, accumulation=4, batch_per_worker=128, compute=2x, host=2x, bandwidth=2x or\n"
                   "25Gbit/s, latency=0.5x or 20us, overlap=off, strategy=zero1|zero2|zero3|ps|async-ps,\n"
                   "servers=4; of FSDP: reshard_after_forward=off, prefetch=off, replicate=2, strategy=ddp")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option(
           "--all-reduce", logs_,
           "Output of nccl-tests' all_reduce_perf on the predicted machines (repeatable): its times replace the\n"
           "links that were fitted here")
        ->type_name("LOG")
        ->allow_extra_args(false);
    for (auto& [option, op, logs] : {std::tuple{"--all-gather", "all_gather", &gather_logs_},
                                     {"--reduce-scatter", "reduce_scatter", &scatter_logs_}})
      app.add_option(option, *logs,
                     std::string("Output of nccl-tests' ") + op +
                         "_perf on the predicted machines (repeatable), for sharded\n"
                         "trainings (FSDP): its times replace the links that were fitted here")
          ->type_name("LOG")
          ->allow_extra_args(false);
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT")->capture_default_str();
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    const std::vector<long long> workers = workers_.empty() ? powers_of_two : parse_worker_list(workers_, "--workers");
    if (gpus_per_node_ && *gpus_per_node_ < 0) {
      throw Failure(ExitCode::usage, "--gpus-per-node: " + std::to_string(*gpus_per_node_) + " is below 0",
                    "ranks per host, or 0 for one host");
    }
    if (confidence_ && !(*confidence_ > 0.0 && *confidence_ < 1.0)) {
      throw Failure(ExitCode::usage, "--confidence: the value is not between 0 and 1", "e.g. 0.9");
    }
    if (!sharing_.empty()) check_word("--sharing", sharing_, sharings);
    const fit::WhatIf what_if = read_what_if();
    if (fit::looks_like_csv(file_)) {
      render(from_table(read_table(), workers), format, context.out, style_of(context));
      return ExitCode::done;
    }
    store::Database database = open_database(file_, "predict", context);
    try {
      if (const std::vector<fit::StepRow> steps = fit::stored_steps(database); !steps.empty()) {
        render(from_table(steps, workers), format, context.out, style_of(context));
        return ExitCode::done;
      }
      if (const std::vector<fit::CollectiveRun> sweeps = fit::stored_collectives(database); !sweeps.empty()) {
        render(from_sweeps(sweeps, workers), format, context.out, style_of(context));
        return ExitCode::done;
      }
      if (batch_)
        throw Failure(ExitCode::usage, "--batch-per-worker is for tables of step times, and this database has traces",
                      "for a trace --what-if batch_per_worker=" + std::to_string(*batch_));
      if (accumulation_)
        throw Failure(ExitCode::usage, "--accumulation is for tables of step times",
                      "for a trace --what-if accumulation=" + std::to_string(*accumulation_));
      fit::PredictOptions options = scenario_queries::stored_predict_options(database).value_or(fit::PredictOptions{});
      const report::WorkersByStrategy stored = report::predicted_workers(database);
      if (workers_.empty() && !stored.empty()) {
        std::set<std::int64_t> all;
        for (const auto& [strategy, counts] : stored) all.insert(counts.begin(), counts.end());
        options.workers.assign(all.begin(), all.end());
      } else {
        options.workers.assign(workers.begin(), workers.end());
      }
      if (gpus_per_node_) options.gpus_per_node = *gpus_per_node_;
      if (!inter_node_.empty()) options.inter_node = collective::parse_node_links(inter_node_);
      if (confidence_) options.confidence = *confidence_;
      if (!sharing_.empty()) options.dedicated = sharing_ == "dedicated";
      options.global_batch = global_batch_;
      options.what_if = what_if;
      const std::vector<fit::AllReduceLog> logs = read_logs();
      for (const fit::AllReduceLog& log : logs)
        for (const fit::AllReduceRun& run : log.runs) options.all_reduce.push_back(fit::curve_of(run));
      std::vector<fit::Note> notes;
      for (const fit::AllReduceLog& log : logs) fit::add_warnings(log, notes);
      add_sharded_logs(gather_logs_, "all_gather", options, notes);
      add_sharded_logs(scatter_logs_, "reduce_scatter", options, notes);
      if (!options.shard_collectives.empty() && fit::sharded_job(database.sql()).measured.empty())
        throw Failure(ExitCode::usage,
                      "--all-gather and --reduce-scatter are for sharded trainings (FSDP), and the database has none "
                      "that can be predicted",
                      "for other trainings --all-reduce; ddpprof report FILE.db --report sharding lists the units");
      fit::PredictResult result = fit::predict_all(database, options);
      if (global_batch_ && result.strong.empty())
        throw Failure(ExitCode::usage,
                      "--global-batch is for DDP and DataParallel, and the predictions of this file are of a sharded "
                      "training (FSDP), whose compute at another batch is not predicted",
                      "measure the training with the batch per worker of each N: global batch / (N · accumulation)");
      result.notes.insert(result.notes.end(), notes.begin(), notes.end());
      report::Report report{"predict", "Predictions", {}};
      report.tables = {report::predictions_table(result.predictions)};
      if (!result.strong.empty()) report.tables.push_back(report::strong_predictions_table(result.strong));
      if (!result.strong.empty() && what_if.any())
        report.tables.back().note += " These steps are without the change of --what-if.";
      if (what_if.any()) report.tables.push_back(report::what_if_table(result.what_ifs, what_if, options.confidence));
      if (!result.memory.empty()) report.tables.push_back(report::sharded_memory_table(result.memory, what_if));
      // Sharded trainings have neither the table why nor the table knee.
      const bool modelled = result.models || result.predictions.empty();
      if (modelled) report.tables.push_back(report::why_table(result.why, what_if));
      if (workers_.empty()) {
        report::WorkersByStrategy asked;
        for (const fit::Prediction& row : result.predictions) asked[row.strategy].insert(row.world_size);
        for (report::Table& table : report::outlook_tables(database, result.models, asked, options))
          if (!table.rows.empty()) report.tables.push_back(std::move(table));
      }
      if (modelled) report.tables.push_back(report::knee_table(result.knees, what_if));
      report.tables.push_back(report::notes_table(result.notes));
      render(report, format, context.out, style_of(context));
    } catch (const SQLite::Exception& error) {
      throw store::translate(error, file_);
    } catch (const fit::NotSupported& error) {
      throw Failure(ExitCode::data, error.reason(), "", error.advice());
    } catch (const std::invalid_argument& error) {
      throw Failure(ExitCode::usage, error.what());
    }
    return ExitCode::done;
  }

 private:
  std::vector<fit::AllReduceLog> read_logs() const {
    std::vector<fit::AllReduceLog> logs;
    for (const std::string& path : logs_) {
      require_log(path);
      try {
        logs.push_back(fit::read_all_reduces(path));
      } catch (const fit::NcclTestsError& error) {
        throw Failure(ExitCode::data, error.what());
      }
    }
    return logs;
  }

  // Adds the runs of `op` in the logs to the options.
  static void add_sharded_logs(const std::vector<std::string>& paths, const std::string& op,
                               fit::PredictOptions& options, std::vector<fit::Note>& notes) {
    for (const std::string& path : paths) {
      require_log(path);
      try {
        fit::add_shard_log(path, op, options, notes);
      } catch (const fit::NcclTestsError& error) {
        throw Failure(ExitCode::data, error.what());
      }
    }
  }

  fit::WhatIf read_what_if() const {
    try {
      return fit::parse_what_if(what_if_);
    } catch (const std::invalid_argument& error) {
      throw Failure(ExitCode::usage, error.what(), "", "docs/guide/what-if.md describes each key");
    }
  }

  std::vector<fit::StepRow> read_table() const {
    try {
      return fit::read_step_csv(file_);
    } catch (const fit::CsvError& error) {
      throw Failure(ExitCode::usage, error.what());
    }
  }

  report::Report from_sweeps(const std::vector<fit::CollectiveRun>& sweeps,
                             const std::vector<long long>& workers) const {
    if (batch_ || accumulation_ || !what_if_.empty() || !logs_.empty() || !gather_logs_.empty() ||
        !scatter_logs_.empty() || !sharing_.empty() || global_batch_ || !inter_node_.empty())
      throw Failure(ExitCode::usage,
                    "this database has collectives of nccl-tests only, and no step: only --workers, --gpus-per-node, "
                    "--confidence and --format apply",
                    "import the logs together with a trace to predict steps");
    const double confidence = confidence_.value_or(0.9);
    return {"predict",
            "Predictions",
            {report::collective_predictions_table(
                fit::predict_collectives(sweeps, {{workers.begin(), workers.end()}, gpus_per_node_, confidence}),
                confidence)}};
  }

  report::Report from_table(const std::vector<fit::StepRow>& rows, std::vector<long long> workers) const {
    if (rows.empty()) throw Failure(ExitCode::data, file_ + " has no rows", "one row per measurement");
    // By default up to four times the largest measured N, so that the answer has something that was not measured.
    if (workers_.empty())
      while (workers.back() < 4 * fit::largest_workers(rows)) workers.push_back(2 * workers.back());
    if (!what_if_.empty())
      throw Failure(ExitCode::usage, "--what-if is for traces; a table of step times has no parts of a step");
    if (!gather_logs_.empty() || !scatter_logs_.empty())
      throw Failure(ExitCode::usage, "--all-gather and --reduce-scatter are for traces of sharded trainings");
    if (!logs_.empty())
      throw Failure(ExitCode::usage, "--all-reduce is for traces; a table of step times has no message sizes");
    if (global_batch_)
      throw Failure(ExitCode::usage, "--global-batch is for traces",
                    "for a table of step times: --batch-per-worker, which is the global batch / (N · accumulation)");
    if (!inter_node_.empty())
      throw Failure(ExitCode::usage, "--inter-node is for traces; a table of step times has no message sizes");
    if (!sharing_.empty())
      throw Failure(ExitCode::usage, "--sharing is for traces; a table of step times has no cores");
    constexpr std::int64_t most_batch = 1'000'000'000'000, most_ranks = 1'000'000;
    if (batch_ && (*batch_ < 1 || *batch_ > most_batch))
      throw Failure(ExitCode::usage, "--batch-per-worker: " + std::to_string(*batch_) + " is not a valid batch",
                    "1 to " + std::to_string(most_batch));
    if (accumulation_ && (*accumulation_ < 1 || *accumulation_ > most_ranks))
      throw Failure(ExitCode::usage,
                    "--accumulation: " + std::to_string(*accumulation_) + " is not a valid number of micro-batches",
                    "1 to " + std::to_string(most_ranks));
    if (gpus_per_node_ && *gpus_per_node_ > most_ranks)
      throw Failure(ExitCode::usage, "--gpus-per-node: " + std::to_string(*gpus_per_node_) + " is too many",
                    "at most " + std::to_string(most_ranks));
    if (confidence_.value_or(0.9) > 0.999)
      throw Failure(ExitCode::usage, "--confidence: a table of measurements cannot support more than 0.999",
                    "e.g. 0.9");
    return predict_from_table(
        rows, {{workers.begin(), workers.end()}, gpus_per_node_, batch_, accumulation_, confidence_.value_or(0.9)});
  }

  std::string file_, workers_, inter_node_, sharing_, format_ = "table";
  std::vector<std::string> what_if_, logs_, gather_logs_, scatter_logs_;
  std::optional<std::int64_t> gpus_per_node_, batch_, global_batch_, accumulation_;
  std::optional<double> confidence_;
};

}  // namespace

std::unique_ptr<Subcommand> make_predict() { return std::make_unique<PredictSubcommand>(); }

}  // namespace ddpprof::cli
